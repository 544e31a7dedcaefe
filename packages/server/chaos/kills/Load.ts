import type { Turn } from "@reins/client"
import { password } from "@reins/testing/process/Caller"
import type { Installation } from "./Installation.js"
import {
  capture,
  changeOfRepository,
  deliver,
  newName,
  newSession,
  openMergeRequest,
  say,
  script,
  upload
} from "./Scenes.js"

/** A deed that a client does again and again. */
type Job = (installation: Installation) => Promise<unknown>

/** Sees a turn through to an end that lets the session go on. */
const seenThrough = async (installation: Installation, turn_id: string): Promise<Turn> => {
  const turn = await installation.api.turns.wait({ turn_id })
  return turn.state === "interrupted" ? installation.api.turns.acknowledge({ turn_id }) : turn
}

const talk: Job = async (installation) => {
  const session = await newSession(installation, { message: say("Hello.") })
  await installation.api.messages.send({ session_id: session.id, content: newName("Note"), routing: "note" })
  const work = script([{ tool: "write", path: "done.txt", content: "done\n" }, { say: "Done." }])
  const sent = await installation.api.messages.send({ session_id: session.id, content: work })
  await seenThrough(installation, session.turn_id ?? "")
  await seenThrough(installation, sent.turn_id ?? "")
}

const cancel: Job = async (installation) => {
  const session = await newSession(installation, {
    message: script([{ tool: "bash", cmd: "sleep 5" }, { say: "Done." }])
  })
  const sent = await installation.api.messages.send({ session_id: session.id, content: say("Never.") })
  await installation.api.turns.cancel({ turn_id: sent.turn_id ?? "" })
  for await (const event of installation.api.sessions.stream({ session_id: session.id }))
    if (event.type === "turn.preparing" && event.turn_id === session.turn_id) break
  await installation.api.sessions.close({ session_id: session.id })
  await installation.api.turns.wait({ turn_id: session.turn_id ?? "" })
}

const deliverChange: Job = async (installation) => {
  const changeset = await changeOfRepository(installation)
  const { delivery, operation } = await deliver(installation, changeset.id)
  const job = await installation.api.jobs.wait({ job_id: operation.job_id })
  if (job.state !== "succeeded") return
  const opened = await openMergeRequest(installation, delivery.id)
  await installation.api.jobs.wait({ job_id: opened.operation.job_id })
  await installation.api.sessions.close({ session_id: changeset.session_id })
}

const fill: Job = async (installation) => {
  const session = await newSession(installation)
  for (let round = 0; round < 5; round++) {
    await upload(installation, session.id, { [`${round}.txt`]: newName("Content"), "same.txt": newName("Content") })
  }
  const changeset = await capture(installation, session.id)
  const target = await newSession(installation)
  await upload(installation, target.id, { "own.txt": "own\n" })
  if (changeset.state !== "ready") return
  const { operation } = await installation.api.changesets.apply({
    changeset_id: changeset.id,
    target_session_id: target.id
  })
  await installation.api.jobs.wait({ job_id: operation.job_id })
}

const delegate: Job = async (installation) => {
  const session = await newSession(installation)
  const { delegation, operation } = await installation.api.sessions.delegate({
    session_id: session.id,
    role: newName("Scout"),
    instructions: say("I looked.")
  })
  await installation.api.delegations.wait({ delegation_id: delegation.id, wake: "message", timeout_seconds: 0 })
  await installation.api.jobs.wait({ job_id: operation.job_id })
  const { items } = await installation.api.turns.list({ session_id: delegation.child_session_id })
  for (const turn of items) await seenThrough(installation, turn.id)
}

const publish: Job = async (installation) => {
  const name = newName("project").replace(" ", "-")
  const project = await installation.api.projects.create({ workspace_id: installation.workspaceId, slug: name, name })
  for (let round = 0; round < 5; round++) {
    const spec = { delivery: { branch_prefix: `team-${round}` } }
    await installation.api.projects.publish({ project_id: project.id, spec, notes: newName("Version") })
  }
  await installation.api.apiKeys.create({ name: newName("Key") })
  await installation.stranger.accounts.register({ email: `${name}@example.org`, password })
}

/** One client for each. */
const jobs: ReadonlyArray<Job> = [talk, cancel, deliverChange, fill, delegate, publish]

/** Clients that do everything at once, until they are told to stop. */
export class Load {
  private stopped = false
  private readonly clients: Promise<unknown>

  constructor(private readonly installation: Installation) {
    this.clients = Promise.all(jobs.map((job) => this.repeat(job)))
    // A client that fails is told by `stop`.
    this.clients.catch(() => {})
  }

  /** Lets every client end what it has begun, and releases what a person would have to look at. */
  async stop(): Promise<void> {
    this.stopped = true
    await this.clients
    await this.installation.settled()
    for (let held = await this.held(); held.length > 0; held = await this.held()) {
      for (const { id } of held) await this.installation.api.turns.acknowledge({ turn_id: id })
      await this.installation.settled()
    }
  }

  private async repeat(job: Job): Promise<void> {
    while (!this.stopped) await job(this.installation)
  }

  private held() {
    return this.installation.turns("state = 'interrupted' and acknowledged_at is null")
  }
}

/** Follows the events of a session through every restart, by one stream that resumes. */
export class Reader {
  readonly seqs: Array<number> = []
  private readonly stopping = new AbortController()
  private readonly reading: Promise<void>

  constructor(installation: Installation, session_id: string) {
    this.reading = this.read(installation, session_id)
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    await this.reading
  }

  private async read(installation: Installation, session_id: string): Promise<void> {
    try {
      for await (const event of installation.api.sessions.stream({ session_id }, { signal: this.stopping.signal }))
        this.seqs.push(event.seq)
    } catch (error) {
      if (!this.stopping.signal.aborted) throw error
    }
  }
}
