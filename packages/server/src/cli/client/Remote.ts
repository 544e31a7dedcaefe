import {
  Reins,
  ReinsApiError,
  type ReinsClientError,
  ReinsConnectionError,
  ReinsValidationError,
  type Workspace
} from "@reins/client"
import { Effect } from "effect"
import { CommandFailed } from "../CommandFailed.js"
import { target } from "./Profile.js"

/** A server that the caller may use, and the workspace that the command is about. */
export interface Remote {
  readonly reins: Reins
  readonly url: string
  readonly workspaceId: string
}

/** The exit codes of the commands that follow a turn. */
export const exitCodes = {
  /** The command could not be carried out. */
  failed: 1,
  turnFailed: 2,
  turnInterrupted: 3,
  deliveryFailed: 4,
  /** The turn goes on without this command. */
  detached: 5,
  cancelled: 130
} as const

/** Connects to the server of the environment or the profile and asks it who is calling. */
export const connect = async (workspace?: string): Promise<Remote> => {
  const { apiKey, url } = target()
  if (url === undefined || apiKey === undefined) {
    const missing = url === undefined ? "server" : `key for ${url}`
    throw new CommandFailed({
      message: `There is no ${missing}. Run \`reins init\`, or set REINS_URL and REINS_API_KEY.`
    })
  }
  const reins = client(url, apiKey)
  const { workspaces } = await reins.accounts.getMe()
  return { reins, url, workspaceId: workspaceOf(workspaces, workspace) }
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
  const known = workspaces.map(({ id, name }) => `${name} (${id})`).join(", ")
  throw new CommandFailed({
    message:
      wanted === undefined
        ? "The key reaches no workspace. Make another one: reins init"
        : `There is no workspace "${wanted}". There are: ${known}.`
  })
}

/** A promise as an effect. A refusal of the server fails with a sentence for the person, all else that is thrown is a defect. */
export const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, CommandFailed> =>
  Effect.flatten(
    Effect.promise(() =>
      run().then(Effect.succeed, (error: unknown) => {
        const failure = asFailure(error)
        return failure === undefined ? Effect.die(error) : Effect.fail(failure)
      })
    )
  )

/** The sentence for what a person can mend; undefined for a defect. */
const asFailure = (error: unknown): CommandFailed | undefined => {
  if (error instanceof CommandFailed) return error
  // Before it asks a server the client refuses ids that cannot be one, such as the empty word of a variable that is not set.
  if (error instanceof TypeError && / needs "\w+", the id as a string$/.test(error.message))
    return new CommandFailed({
      message:
        "An id is empty or cannot be one. `reins sessions ls`, `reins keys list` and `reins webhooks ls` show them."
    })
  return isClientError(error) ? new CommandFailed({ message: sentenceOf(error) }) : undefined
}

export const isClientError = (error: unknown): error is ReinsClientError =>
  error instanceof ReinsApiError || error instanceof ReinsConnectionError || error instanceof ReinsValidationError

/** The sentence for an error of the client, with the next step. */
export const sentenceOf = (error: ReinsClientError): string => {
  const { url = "" } = target()
  if (error instanceof ReinsConnectionError && error.reason !== "unreadable")
    return `No server answers at ${url} (${error.message}). Start one with \`reins serve\`, or set REINS_URL.`
  if (!(error instanceof ReinsApiError)) return error.message
  if (error.status === 401)
    return `${url} does not know the key. Run \`reins init\` for a new one, or set REINS_API_KEY.`
  const request = error.requestId === null || error.status < 500 ? "" : ` (request ${error.requestId})`
  return `${error.message}${request}`
}
