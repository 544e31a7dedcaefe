import {
  Reins,
  ReinsApiError,
  type ReinsClientError,
  ReinsConnectionError,
  ReinsValidationError,
  type Workspace
} from "@reins/client"
import { Effect } from "effect"
import { command, type Example, type Given, type Leaf, option, type Parameters } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { didYouMean } from "../terminal/Suggestion.js"
import { refusalSentence, validationSentence } from "./ErrorSentences.js"
import { target } from "./Profile.js"

/** A server that the caller may use, and the workspace that the command is about. */
export interface Remote {
  readonly reins: Reins
  readonly url: string
  readonly workspaceId: string
  /** The other workspaces that the key reaches; none where the command names its own. */
  readonly otherWorkspaces: ReadonlyArray<string>
}

/** The exit codes of the commands that follow a turn, or ask what waits. */
export const exitCodes = {
  /** The command could not be carried out. */
  failed: 1,
  turnFailed: 2,
  turnInterrupted: 3,
  deliveryFailed: 4,
  /** The turn goes on without this command. */
  detached: 5,
  /** Something waits for the person who asks. */
  somethingWaits: 6,
  cancelled: 130
} as const

/** The options of every command that asks a server. */
const connectionOptions = {
  url: option("url", "The server (REINS_URL, else the one of your profile)", { value: "url", group: "Connection:" })
}

/** The option of a command that is about one workspace. */
export const workspaceOption = option("workspace", "The workspace, by name or id (your own)", {
  value: "workspace",
  group: "Connection:"
})

interface RemoteBody<P extends Parameters> {
  readonly takes: P
  readonly examples: readonly [Example, Example, ...ReadonlyArray<Example>]
  readonly details?: string
  /** Connects when it is ready to: what is wrong with its words is said without a server. `named` is the server of its words. */
  readonly run: (
    given: Given<P>,
    connect: (workspace?: string) => Promise<Remote>,
    named: string | undefined
  ) => Promise<unknown>
}

/** A command that asks a server. */
export const remoteCommand = <P extends Parameters>({ run, ...body }: RemoteBody<P>): Leaf => {
  const leafAt = (url: string | undefined) =>
    command({ ...body, run: (given) => attempt(() => run(given, (workspace) => connect(url, workspace), url), url) })
  return {
    ...leafAt(undefined),
    takes: { ...body.takes, ...connectionOptions },
    doing: (words) => leafAt(connectionOptions.url.read(words("url"))).doing(words)
  }
}

/** A client of the server that is named, or that of the environment or the profile. It asks nothing yet. */
export const clientAt = (named?: string): Pick<Remote, "reins" | "url"> => {
  const { apiKey, url } = target(named)
  if (url === undefined || apiKey === undefined) {
    const missing = url === undefined ? "server" : `key for ${url}`
    throw new CommandFailed({
      message: `There is no ${missing}. Run \`reins init\`, or set REINS_URL and REINS_API_KEY.`
    })
  }
  return { reins: client(url, apiKey), url }
}

/** Connects to that server, and asks it who is calling. */
export const connect = async (named?: string, workspace?: string): Promise<Remote> => {
  const { reins, url } = clientAt(named)
  const { workspaces } = await reins.accounts.getMe()
  const workspaceId = workspaceOf(workspaces, workspace)
  const others = workspaces.map(({ id }) => id).filter((id) => id !== workspaceId)
  return { reins, url, workspaceId, otherWorkspaces: workspace === undefined ? others : [] }
}

/** A client of the command line. Says in a sentence what is wrong with a URL or a key that cannot be one. */
export const client = (baseUrl: string, apiKey?: string): Reins => {
  try {
    return new Reins({ baseUrl, apiKey })
  } catch (cause) {
    throw new CommandFailed({ message: `${cause instanceof Error ? cause.message : cause}.` })
  }
}

const workspaceOf = (workspaces: ReadonlyArray<Pick<Workspace, "id" | "name">>, wanted: string | undefined): string => {
  const found = workspaces.find(({ id, name }) => wanted === undefined || id === wanted || name === wanted)
  if (found !== undefined) return found.id
  const names = workspaces.flatMap(({ id, name }) => [name, id])
  const known = workspaces.map(({ id, name }) => `${name} (${id})`).join(", ")
  throw new CommandFailed({
    message:
      wanted === undefined
        ? "The key reaches no workspace. Make another one: reins init"
        : `There is no workspace "${wanted}".${didYouMean(wanted, names)} There are: ${known}.`
  })
}

/** A promise as an effect. A refusal of the server fails with a sentence for the person, all else that is thrown is a defect. */
export const attempt = <A>(run: () => Promise<A>, url?: string): Effect.Effect<A, CommandFailed> =>
  Effect.flatten(
    Effect.promise(() =>
      run().then(Effect.succeed, (error: unknown) => {
        const failure = asFailure(error, url)
        return failure === undefined ? Effect.die(error) : Effect.fail(failure)
      })
    )
  )

/** The sentence for what a person can mend; undefined for a defect. */
const asFailure = (error: unknown, url: string | undefined): CommandFailed | undefined => {
  if (error instanceof CommandFailed) return error
  // Before it asks a server the client refuses ids that cannot be one, such as the empty word of a variable that is not set.
  if (error instanceof TypeError && / needs "\w+", the id as a string$/.test(error.message))
    return new CommandFailed({
      message:
        "An id is empty or cannot be one. `reins sessions list`, `reins keys list` and `reins webhooks list` show them."
    })
  return isClientError(error) ? new CommandFailed({ message: sentenceOf(error, url) }) : undefined
}

export const isClientError = (error: unknown): error is ReinsClientError =>
  error instanceof ReinsApiError || error instanceof ReinsConnectionError || error instanceof ReinsValidationError

/** The sentence for an error of the client, with the next step. */
export const sentenceOf = (error: ReinsClientError, named?: string): string => {
  const { url = "" } = target(named)
  if (error instanceof ReinsConnectionError)
    return error.reason === "unreadable"
      ? error.message
      : `No server answers at ${url} (${error.message}). Start one with \`reins serve\`, or set REINS_URL.`
  if (error instanceof ReinsValidationError) return validationSentence(error)
  return error.status === 401 && error.code !== "invalid_credentials"
    ? `${url} does not know the key. Run \`reins init\` for a new one, or set REINS_API_KEY.`
    : refusalSentence(error)
}
