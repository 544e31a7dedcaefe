import type { Session } from "@reins/client"
import { flag, type Given, optionalArgument } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { tell } from "../terminal/Output.js"
import { ask, isInteractive } from "../terminal/Prompts.js"
import { harmless, painter } from "../terminal/Style.js"
import { beginSession, changeModel, refuseAnew, sessionOptions } from "./BeginSession.js"
import { Conversation, type Talked } from "./Conversation.js"
import { openPage, pageOf } from "./Open.js"
import { nameOf } from "./Providers.js"
import { type Remote, remoteCommand, workspaceOption } from "./Remote.js"
import { chooseRepository } from "./Repository.js"
import { sessionNamed, sessionOption, sessionsAt, shortIdIn } from "./Resolve.js"
import { stateOf } from "./SessionState.js"

const takes = {
  message: optionalArgument("message", "The first message"),
  ...sessionOptions,
  session: sessionOption("Go on with this session instead of a new one"),
  continue: flag("continue", "Go on with the newest session of the repository", { short: "c" }),
  resume: flag("resume", "Choose a session of the repository to go on with", { short: "r" }),
  approve: flag("approve", "Allow every tool that the agent asks for, without asking you"),
  web: flag("web", "Open the page of the session in the browser, too"),
  workspace: workspaceOption
}

type Options = Given<typeof takes>

/** `reins chat` */
export const chat = remoteCommand({
  takes,
  details:
    "Ctrl-C cancels the turn that runs. /help lists the other commands, as /diff, /deliver, /model and /new. /exit or Ctrl-D leaves.\n" +
    "The session stays; `reins chat --session ID` goes on with it. `reins -c` and `reins -r` are `reins chat -c` and `reins chat -r`.",
  examples: [
    ["reins chat", "Talk about the repository of this folder"],
    ["reins chat -c", "Go on with its newest session"],
    ["reins chat --session 3ffe", "Go on with the session whose id ends so"]
  ],
  run: async (given, connect) => {
    if (!isInteractive())
      throw new CommandFailed({ message: 'reins chat needs a terminal. Without one: reins run "the task"' })
    refuseTwo(given)
    const remote = await connect(given.workspace)
    const known = await knownSession(remote, given)
    const talked =
      known === undefined ? await newTalk(remote, given, given.message) : await oldTalk(remote, given, known)
    if (given.web) await openPage(pageOf(remote.url, talked.sessionId))
    const talk = new Conversation(remote, talked, given.approve ? "allow" : "ask", (model) =>
      newTalk(remote, anew(given, talked, model), undefined)
    )
    const { active_turn_id } = await remote.reins.sessions.get({ session_id: talked.sessionId })
    if (active_turn_id !== null) await talk.hear(active_turn_id)
    await talk.hold(given.message)
  }
})

/** Refuses two ways to a session at once, and what a session has already. */
const refuseTwo = (given: Options): void => {
  const ways = [given.session !== undefined, given.continue, given.resume].filter(Boolean)
  if (ways.length > 1)
    throw new CommandFailed({ message: "--session, --continue and --resume each name a session. Give one of them." })
  if (ways.length === 0) return
  // These find their session by the repository.
  refuseAnew({ ...given, session: given.session ?? "last", ...(given.session === undefined && { repo: undefined }) })
  if (given.budget !== undefined)
    throw new CommandFailed({
      message: `Change the limit of a session by itself: reins budget ${given.session ?? "last"} ${given.budget}`
    })
}

/** The words of a new session beside the first one: on its repository, with its agent and the model that was chosen since. */
const anew = (given: Options, { provider, ref, repository }: Talked, model: string | undefined): Options => ({
  ...given,
  session: undefined,
  continue: false,
  resume: false,
  model: model ?? given.model,
  ...(given.session !== undefined && { repo: repository ?? undefined, ref: ref ?? undefined, provider })
})

/** The session that the words name; undefined for a new one. */
const knownSession = async (remote: Remote, given: Options): Promise<string | undefined> => {
  if (given.session !== undefined) return sessionNamed(remote, given.session)
  if (!given.continue && !given.resume) return undefined
  const { overHttps, url } = chooseRepository(given.repo ?? ".", undefined)
  const found = await sessionsAt(remote, overHttps === null ? [url] : [url, overHttps])
  const [newest] = found
  if (newest === undefined) throw new CommandFailed({ message: `No session of ${url} is open. Begin one: reins chat` })
  return given.continue ? newest.id : chosenOf(found)
}

const chosenOf = (sessions: ReadonlyArray<Session>): Promise<string> => {
  const ids = sessions.map(({ id }) => id)
  return ask.choice(
    "Which session?",
    sessions.map((each) => ({
      value: each.id,
      label: `${shortIdIn(each.id, ids)}  ${harmless((each.title ?? "(no title)").replaceAll(/\s+/g, " "))}`,
      hint: `${each.updated_at.slice(0, 16).replace("T", " ")}, ${stateOf(each)}`
    }))
  )
}

const newTalk = async (remote: Remote, given: Options, message: string | undefined): Promise<Talked> => {
  const { id, repository } = await beginSession(remote, given, { title: message ?? "Conversation", isQuiet: false })
  const session = await remote.reins.sessions.get({ session_id: id })
  await tellHead(remote, session)
  return { ...talkedIn(session), repository, isNew: message === undefined }
}

const oldTalk = async (remote: Remote, given: Options, session_id: string): Promise<Talked> => {
  await changeModel(remote, session_id, given)
  const session = await remote.reins.sessions.get({ session_id })
  await tellHead(remote, session)
  return talkedIn(session)
}

const talkedIn = ({ base, event_watermark, harness, id }: Session): Talked => ({
  sessionId: id,
  after: event_watermark,
  repository: base.repository,
  ref: base.ref,
  provider: harness.provider_id,
  isNew: false
})

/** Says where the conversation takes place, and with whom. */
const tellHead = async ({ reins }: Remote, { base, harness, id, title }: Session): Promise<void> => {
  const { items } = await reins.catalog.listHarnesses()
  const agent = items.find(({ provider_id }) => provider_id === harness.provider_id)
  const who = [agent === undefined ? harness.provider_id : nameOf(agent), harness.model ?? ""]
    .filter(Boolean)
    .join(", ")
  const where = [base.repository ?? "no repository", base.ref ?? ""].filter(Boolean).join(" · ")
  tell(painter(process.stderr)("bold", harmless(`${where} · ${who}`)))
  const called = title === null || title === "Conversation" ? "" : `: ${harmless(title)}`
  tell(`Session ${id}${called}. /help shows what else you can type.`)
}
