import type { Turn } from "@reins/core/domain/Turn"
import { password } from "@reins/testing/process/Caller"
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
import type { World } from "./World.js"

/** What a client does again and again. */
type Job = (world: World) => Promise<unknown>

/** Sees a turn through to an end that lets the session go on. */
const seenThrough = async (world: World, turn_id: string): Promise<Turn> => {
  const turn = await world.api.turns.wait({ turn_id })
  return turn.state === "interrupted" ? world.api.turns.acknowledge({ turn_id }) : turn
}

const talk: Job = async (world) => {
  const session = await newSession(world, { message: say("Hello.") })
  await world.api.messages.send({ session_id: session.id, content: newName("Note"), routing: "note" })
  const work = script([{ tool: "write", path: "done.txt", content: "done\n" }, { say: "Done." }])
  const sent = await world.api.messages.send({ session_id: session.id, content: work })
  await seenThrough(world, session.turn_id ?? "")
  await seenThrough(world, sent.turn_id ?? "")
}

const cancel: Job = async (world) => {
  const session = await newSession(world, { message: script([{ tool: "bash", cmd: "sleep 5" }, { say: "Done." }]) })
  const sent = await world.api.messages.send({ session_id: session.id, content: say("Never.") })
  await world.api.turns.cancel({ turn_id: sent.turn_id ?? "" })
  for await (const event of world.api.sessions.stream({ session_id: session.id }))
    if (event.type === "turn.preparing" && event.turn_id === session.turn_id) break
  await world.api.sessions.close({ session_id: session.id })
  await world.api.turns.wait({ turn_id: session.turn_id ?? "" })
}

const deliverChange: Job = async (world) => {
  const changeset = await changeOfRepository(world)
  const { delivery, operation } = await deliver(world, changeset.id)
  const job = await world.api.jobs.wait({ job_id: operation.job_id })
  if (job.state !== "succeeded") return
  const opened = await openMergeRequest(world, delivery.id)
  await world.api.jobs.wait({ job_id: opened.operation.job_id })
  await world.api.sessions.close({ session_id: changeset.session_id })
}

const fill: Job = async (world) => {
  const session = await newSession(world)
  for (let round = 0; round < 5; round++) {
    await upload(world, session.id, { [`${round}.txt`]: newName("Content"), "same.txt": newName("Content") })
  }
  const changeset = await capture(world, session.id)
  const target = await newSession(world)
  await upload(world, target.id, { "own.txt": "own\n" })
  if (changeset.state !== "ready") return
  const { operation } = await world.api.changesets.apply({ changeset_id: changeset.id, target_session_id: target.id })
  await world.api.jobs.wait({ job_id: operation.job_id })
}

const delegate: Job = async (world) => {
  const session = await newSession(world)
  const { delegation, operation } = await world.api.sessions.delegate({
    session_id: session.id,
    role: newName("Scout"),
    instructions: say("I looked.")
  })
  await world.api.delegations.wait({ delegation_id: delegation.id, wake: "message", timeout_seconds: 0 })
  await world.api.jobs.wait({ job_id: operation.job_id })
  const { items } = await world.api.turns.list({ session_id: delegation.child_session_id })
  for (const turn of items) await seenThrough(world, turn.id)
}

const publish: Job = async (world) => {
  const name = newName("project").replace(" ", "-")
  const project = await world.api.projects.create({ workspace_id: world.workspaceId, slug: name, name })
  for (let round = 0; round < 5; round++) {
    const spec = { delivery: { branch_prefix: `team-${round}` } }
    await world.api.projects.publish({ project_id: project.id, spec, notes: newName("Version") })
  }
  await world.api.apiKeys.create({ name: newName("Key") })
  await world.stranger.accounts.register({ email: `${name}@example.org`, password })
}

/** One client for each. */
const jobs: ReadonlyArray<Job> = [talk, cancel, deliverChange, fill, delegate, publish]

/** Clients that do everything at once, until they are told to stop. */
export class Load {
  private stopped = false
  private readonly clients: Promise<unknown>

  constructor(private readonly world: World) {
    this.clients = Promise.all(jobs.map((job) => this.repeat(job)))
    // A client that fails is told by `stop`.
    this.clients.catch(() => {})
  }

  /** Lets every client end what it has begun, and releases what a person would have to look at. */
  async stop(): Promise<void> {
    this.stopped = true
    await this.clients
    await this.world.settled()
    for (let held = await this.held(); held.length > 0; held = await this.held()) {
      for (const { id } of held) await this.world.api.turns.acknowledge({ turn_id: id })
      await this.world.settled()
    }
  }

  private async repeat(job: Job): Promise<void> {
    while (!this.stopped) await job(this.world)
  }

  private held() {
    return this.world.turns("state = 'interrupted' and acknowledged_at is null")
  }
}

/** Follows the events of a session through every restart, by one stream that resumes. */
export class Reader {
  readonly seqs: Array<number> = []
  private readonly stopping = new AbortController()
  private readonly reading: Promise<void>

  constructor(world: World, session_id: string) {
    this.reading = this.read(world, session_id)
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    await this.reading
  }

  private async read(world: World, session_id: string): Promise<void> {
    try {
      for await (const event of world.api.sessions.stream({ session_id }, { signal: this.stopping.signal }))
        this.seqs.push(event.seq)
    } catch (error) {
      if (!this.stopping.signal.aborted) throw error
    }
  }
}
