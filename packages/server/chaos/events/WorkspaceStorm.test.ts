import { Reins, ReinsConnectionError } from "@reins/client"
import { newCaller, newKey } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { type ServerOptions, startServer } from "@reins/testing/process/ServerProcess"
import { upTo } from "@reins/testing/process/Turns"
import { assert, describe, it } from "vitest"
import { soakMs, workspaceStorms } from "../Volume.js"
import { cutting, lifetime, pause, readStream } from "./EventReaders.js"
import { insist } from "./Insist.js"

const place = placeForEachTest(inMemory)

/** A workspace whose events are read, and by whom. */
interface Source {
  readonly baseUrl: string
  readonly apiKey: string
  readonly workspaceId: string
}

/** An event at its position, as a reader was given it. */
type Seen = readonly [position: number, eventId: string, sessionId: string, seq: number]

/** Follows a workspace up to a position with connections that are cut again and again, and gives back what it was given. */
type Follow = (source: Source, goal: number) => Promise<ReadonlyArray<Seen>>

/** By server-sent events and `Last-Event-ID`, as a browser does. */
const bySse =
  (query = ""): Follow =>
  async ({ workspaceId, ...source }, goal) => {
    const seen: Array<Seen> = []
    let cursor = 0
    while (cursor < goal) {
      const answered = await readStream(
        { ...source, sessionId: "" },
        {
          path: `/api/workspaces/${workspaceId}/events`,
          query,
          lastEventId: cursor,
          lifetimeMs: lifetime(),
          onBlock: ({ data, id }) => {
            if (id === undefined) return true
            cursor = Number(id)
            if (data !== undefined) {
              const event = JSON.parse(data)
              seen.push([cursor, event.id, event.session_id, event.seq])
            }
            return cursor < goal
          }
        }
      )
      if (!answered) await pause()
    }
    return seen
  }

/** By the product's client, which reconnects by itself. */
const byClient: Follow = async ({ apiKey, baseUrl, workspaceId }, goal) => {
  const reins = new Reins({ baseUrl, apiKey, fetch: cutting, maxRetries: 20 })
  const seen: Array<Seen> = []
  for await (const { event, position } of reins.workspaces.stream({ workspace_id: workspaceId })) {
    seen.push([position, event.id, event.session_id, event.seq])
    if (position >= goal) break
  }
  return seen
}

/** By pages, of any size. */
const byPages: Follow = async ({ apiKey, baseUrl, workspaceId }, goal) => {
  const reins = new Reins({ baseUrl, apiKey, fetch: cutting, maxRetries: 0 })
  const seen: Array<Seen> = []
  let cursor = 0
  while (cursor < goal) {
    try {
      const limit = 1 + Math.floor(Math.random() * 1000)
      const page = await reins.workspaces.listEvents({ workspace_id: workspaceId, after: cursor, limit })
      seen.push(...page.items.map(({ event, position }): Seen => [position, event.id, event.session_id, event.seq]))
      cursor = page.next_after
      if (!page.has_more) await pause()
    } catch (error) {
      if (!(error instanceof ReinsConnectionError)) throw error
      await pause()
    }
  }
  return seen
}

/** The events of each session by their `seq`, in the order in which they came. */
const sessionsOf = (seen: ReadonlyArray<Seen>) => {
  const found = new Map<string, Array<number>>()
  for (const [, , session, seq] of seen) found.set(session, [...(found.get(session) ?? []), seq])
  return found
}

/** Asks for the workspace of somebody else again and again, and gives back the statuses that were answered. */
const spyOn = async ({ baseUrl, workspaceId }: Source, apiKey: string, isOver: () => boolean) => {
  const statuses = new Set<number>()
  for (let isStream = true; !isOver(); isStream = !isStream) {
    const headers = { authorization: `Bearer ${apiKey}`, accept: isStream ? "text/event-stream" : "application/json" }
    const path = `${baseUrl}/api/workspaces/${workspaceId}/events?limit=1`
    const response = await fetch(path, { headers }).catch(() => undefined)
    await response?.body?.cancel().catch(() => undefined)
    if (response !== undefined) statuses.add(response.status)
    await pause()
  }
  return [...statuses]
}

const databases = [
  { database: "SQLite", environment: async () => ({}) },
  { database: "PostgreSQL", environment: async () => ({ REINS_DATABASE_URL: await place.newPostgresDatabase() }) }
] as const

for (const { database, environment } of databases) {
  const { events, kills, readers, sessions } = workspaceStorms[database]
  describe(`on ${database}`, () => {
    it(`${readers} readers, cut at random, read each of ${events} events of ${sessions} sessions once and at one position through ${kills} kills, and another tenant reads none`, {
      timeout: 1_200_000 + soakMs
    }, async () => {
      const options: ServerOptions = {
        dataDir: place.dataDir,
        env: await environment(),
        args: ["--port", String(await steadyPort())]
      }
      let server = await startServer(options)
      const caller = await newCaller(server, place.dataDir, undefined, options.env)
      const reins = caller.at(server, { maxRetries: 20 })
      const { apiKey, workspaceId } = caller
      const project = await reins.projects.create({ workspace_id: workspaceId, slug: "half", name: "Half", spec: {} })
      const ids: ReadonlyArray<string> = await Promise.all(
        upTo(sessions).map(async (number) => {
          const inProject = number % 2 === 0 && { project_id: project.id }
          return (await reins.sessions.create({ workspace_id: workspaceId, ...inProject })).id
        })
      )
      const source: Source = { baseUrl: server.url, apiKey, workspaceId }
      const stranger = newKey(place.dataDir, options.env, "stranger@example.com")
      const strange = new Reins({ baseUrl: server.url, apiKey: stranger, maxRetries: 20 })
      const strangeId = (await strange.accounts.getMe()).workspaces[0]?.id ?? ""

      const others: ReadonlyArray<Follow> = [
        byClient,
        byPages,
        bySse("types=session.updated"),
        bySse(`project_id=${project.id}`)
      ]
      const follows = [...upTo(readers - others.length).map(() => bySse()), ...others]
      const reading = Promise.all(follows.map((follow) => follow(source, events)))
      let next = sessions
      let made = sessions
      let killed = 0
      let restarted: Promise<void> = Promise.resolve()
      const restart = async () => {
        server.kill("SIGKILL")
        await server.ended
        server = await startServer(options)
      }
      await strange.connections.create({
        workspace_id: strangeId,
        kind: "alpha_gateway",
        label: "gateway",
        credential: { base_url: "http://127.0.0.1:9/v1", api_key: "none" }
      })
      const strangeSession = (await strange.sessions.create({ workspace_id: strangeId })).id
      const write = async () => {
        while (next < events) {
          const number = ++next
          const sessionId = ids[number % sessions] ?? ""
          await insist({ ...source, sessionId }, "PATCH", "", { title: `title ${number} é😀` })
          // These are no part of the stream, or are in that of another tenant.
          if (number % 5 === 0)
            await insist({ ...source, sessionId }, "POST", "/messages", { content: "A note.", routing: "note" })
          if (number % 20 === 0)
            await insist({ ...source, apiKey: stranger, sessionId: strangeSession }, "PATCH", "", {
              title: `${number}`
            })
          made += 1
          if (killed < kills && made >= (events / (kills + 1)) * (killed + 1)) {
            killed += 1
            restarted = restarted.then(restart)
          }
        }
      }
      let isOver = false
      const spying = spyOn(source, stranger, () => isOver)
      await Promise.all(upTo(8).map(write))
      await restarted
      const sequences = await reading
      isOver = true
      assert.deepStrictEqual(await spying, [404])
      assert.strictEqual(killed, kills)

      const log = await byPages(source, events)
      assert.deepStrictEqual(
        log.map(([position]) => position),
        upTo(events)
      )
      assert.strictEqual(new Set(log.map(([, id]) => id)).size, events)
      const bySession = sessionsOf(log)
      assert.sameMembers([...bySession.keys()], [...ids])
      for (const seqs of bySession.values())
        assert.deepStrictEqual(
          seqs,
          [...seqs].sort((a, b) => a - b)
        )
      const updated = log.filter(([, , , seq]) => seq > 1)
      const half = new Set(ids.filter((_, index) => (index + 1) % 2 === 0))
      const expected = [
        ...follows.slice(0, -2).map(() => log),
        updated,
        log.filter(([, , session]) => half.has(session))
      ]
      for (const [index, seen] of sequences.entries()) assert.deepStrictEqual(seen, expected[index], `reader ${index}`)
      const own = await bySse()({ ...source, apiKey: stranger, workspaceId: strangeId }, events / 20)
      assert.deepStrictEqual([...sessionsOf(own).keys()], [strangeSession])
      process.stdout.write(
        `${database}: ${events} events of ${sessions} sessions to ${readers} readers, ${killed} kills\n`
      )
    })
  })
}
