import { CoreConfig } from "@reins/base/base/CoreConfig"
import { shortened } from "@reins/base/base/CutText"
import { Effect, Layer } from "effect"
import { actorOf } from "../access/Access.js"
import type { ProjectServer } from "../projects/ProjectServer.js"
import { Projects } from "../projects/Projects.js"
import { InteractionStore } from "../sessions/questions/InteractionStore.js"
import type { Interaction } from "../sessions/rows/Interaction.js"
import { Journal } from "../store/Journal.js"
import { type HostedTool, ToolFailed, ToolReply, type ToolTurn } from "../tools/Tool.js"
import { ToolSources } from "../tools/ToolSources.js"
import type { ServerAnswer } from "./ForeignAnswer.js"
import type { ListedTool } from "./ForeignTools.js"
import { type OfferedNames, offeredNames } from "./OfferedNames.js"
import type { NamingVersion } from "./OpenServer.js"
import type { ServerFailed } from "./ServerFailed.js"
import { ServerLinks } from "./ServerLinks.js"
import { ServerLooks } from "./ServerLooks.js"
import { serverNews } from "./ServerNews.js"
import { turnAccount } from "./TurnAccount.js"

/** The longest input that a person is shown before a call, in characters. */
const shownInput = 4000

/** Offers agents the tools of the servers that their project names. The service calls the servers, so agents never have their keys. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const looks = yield* ServerLooks
    const projects = yield* Projects
    const sources = yield* ToolSources
    const tell = yield* serverNews
    const toolFor = yield* makeServerTool
    const accountOf = yield* turnAccount

    const toolsOf = (session: ToolTurn["session"], isOffer: boolean, named: NamedServer) =>
      Effect.gen(function* () {
        const { server, version } = named
        const look = yield* looks.soon(version, server, isOffer)
        yield* tell(session, server.name, look)
        return look.tools.flatMap(({ standing, tool }) =>
          standing === "offered" && tool !== undefined ? [toolFor(named, tool)] : []
        )
      })

    yield* sources.register({
      toolsOf: Effect.fnUntraced(function* (session, isOffer) {
        const named = versionOf(session)
        if (named === undefined) return []
        const servers = (yield* projects.specOf(session)).tools?.mcp_servers ?? []
        const isPersonal = servers.some(({ login }) => login === "person")
        const version = isPersonal ? { ...named, accountId: yield* accountOf(session) } : named
        const nameOf = offeredNames(servers)
        const found = yield* Effect.forEach(
          servers,
          (server) => toolsOf(session, isOffer, { version, server, nameOf }),
          {
            concurrency: "unbounded"
          }
        )
        return found.flat()
      })
    })
  })
)

const versionOf = ({ project, workspace_id }: ToolTurn["session"]): NamingVersion | undefined =>
  project === null ? undefined : { workspaceId: workspace_id, projectId: project.id, versionId: project.version_id }

/** A server of a version, with the names under which agents are offered its tools. */
interface NamedServer {
  readonly version: NamingVersion
  readonly server: ProjectServer
  readonly nameOf: OfferedNames
}

const makeServerTool = Effect.gen(function* () {
  const looks = yield* ServerLooks
  const links = yield* ServerLinks
  const ask = yield* makeAsk
  const { toolAnswerImages } = (yield* CoreConfig).limits

  /** The tool as it is now. A tool that nobody can call, or that has changed, is told to the model. */
  const current = Effect.fnUntraced(function* (version: NamingVersion, server: ProjectServer, name: string) {
    const look = yield* looks.recent(version, server)
    if (look.problem !== null)
      return yield* new ToolFailed({
        message: `The server ${server.name} cannot be used: ${look.problem} Go on without it.`
      })
    const found = look.tools.find((tool) => tool.name === name)
    if (found?.standing === "offered" && found.tool !== undefined) return found.tool
    return yield* new ToolFailed({
      message:
        found?.standing === "changed"
          ? `The server ${server.name} has changed its tool ${name} since somebody looked at it, so it is not called. Go on without it.`
          : `The server ${server.name} has no tool ${name} ${found?.reason == null ? "any more" : `that can be called: ${found.reason}`} Go on without it.`
    })
  })

  return (
    { nameOf, server, version: naming }: NamedServer,
    { description, input_schema, is_read_only, name }: ListedTool
  ) => {
    const tool: HostedTool = {
      server: server.name,
      ownName: name,
      offered: { name: nameOf(server.name, name), description, is_read_only, input_schema },
      keyOf: () => null,
      run: Effect.fnUntraced(function* (turn, input) {
        // An agent is kept for the next turn, which may be of another person.
        const version = { ...naming, accountId: turn.principal.accountId }
        yield* current(version, server, name)
        if (server.permissions?.[name] === "ask") yield* ask(turn, server.name, name, input)
        const found = yield* current(version, server, name)
        const called = Effect.gen(function* () {
          const link = yield* links.connect(yield* looks.open(version, server))
          return yield* link.call(found, asObject(input))
        })
        const answer = yield* Effect.mapError(Effect.scoped(called), (failure) => failureOf(server.name, failure))
        return new ToolReply(withFewerImages(answer, toolAnswerImages))
      })
    }
    return tool
  }
})

/** An answer with so many images at most. It says how many are left out. */
const withFewerImages = ({ images, is_error, text }: ServerAnswer, most: number): ServerAnswer => {
  const left = images.length - most
  if (left <= 0) return { images, is_error, text }
  const note = `[${left} of ${images.length} images are left out: an answer has at most ${most}. Ask for fewer at once.]`
  return { images: images.slice(0, most), is_error, text: text === "" ? note : `${text}\n${note}` }
}

const asObject = (input: unknown): Readonly<Record<string, unknown>> =>
  typeof input === "object" && input !== null && !Array.isArray(input) ? Object.fromEntries(Object.entries(input)) : {}

const failureOf = (server: string, { mayHaveHappened, message }: ServerFailed): ToolFailed =>
  mayHaveHappened
    ? new ToolFailed({
        message: `The server ${server} gave no answer after the call was sent: ${message} The call may have happened. Look before you call it again.`,
        mayHaveHappened: true
      })
    : new ToolFailed({ message: `The server ${server} did not do it: ${message}` })

/** Asks people before a call. It fails for the model where they refuse, and where nobody answers. */
const makeAsk = Effect.gen(function* () {
  const interactions = yield* InteractionStore
  const journal = yield* Journal

  return Effect.fnUntraced(function* ({ principal, turn }: ToolTurn, server: string, tool: string, input: unknown) {
    const actor = actorOf(principal)
    // Few tools ask, so that a start loads nothing for it.
    const { sealSubject } = yield* Effect.promise(() => import("@reins/base/base/SealSubject"))
    const opened = yield* journal.commit(
      interactions.open(turn.id, actor, {
        kind: "approval",
        title: `${server}: ${tool}`,
        description: shortened(JSON.stringify(input, null, 2), shownInput),
        subject: sealSubject({ kind: "tool", tool: `${server}: ${tool}`, input: JSON.stringify(input ?? {}) }),
        tool_id: null,
        options: [
          { id: "allow", name: "Allow once", kind: "allow_once" },
          { id: "reject", name: "Reject", kind: "reject_once" }
        ],
        form: null,
        url: null,
        default: "reject"
      })
    )
    if (opened === undefined) return yield* new ToolFailed({ message: "The turn has ended." })
    const settled = yield* Effect.onInterrupt(
      interactions.settled(opened.id, (command) => journal.commit(command)),
      () => journal.commit(interactions.takeBack(opened.id, actor))
    )
    const refusal = refusalOf(settled)
    if (refusal !== undefined) return yield* new ToolFailed({ message: refusal })
  })
})

const refusalOf = ({ answer, note, state }: Interaction): string | undefined => {
  if (state === "answered" && answer === "allow") return undefined
  if (state === "cancelled") return "The call was withdrawn."
  if (state === "expired") return "Nobody answered in time whether the call is allowed, so it was not made."
  return `The call was refused.${note === null ? "" : ` ${note}`}`
}
