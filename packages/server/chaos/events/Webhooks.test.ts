import http from "node:http"
import type { AddressInfo } from "node:net"
import { webhooks } from "@reins/client"
import { newCaller } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { type ServerOptions, startServer } from "@reins/testing/process/ServerProcess"
import { upTo } from "@reins/testing/process/Turns"
import { assert, describe, it } from "vitest"
import { deliveries, soakMs } from "../Volume.js"

const place = placeForEachTest(inMemory)

/** A receiver that is killed at random, with the connections that it has, and listens again at the same port. */
class Receiver {
  /** The `seq` of the events of each session in the order in which they first came. */
  readonly sequences = new Map<string, Array<number>>()
  count = 0
  again = 0
  forged = 0
  secret = ""
  private readonly seen = new Set<string>()
  private server = http.createServer()

  async listen(port = 0): Promise<number> {
    const server = http.createServer(async (request, response) => {
      const chunks: Array<Buffer> = []
      try {
        for await (const chunk of request) chunks.push(chunk)
      } catch {
        return
      }
      const message = await webhooks.verify(Buffer.concat(chunks), request.headers, this.secret).catch(() => undefined)
      if (message === undefined || message.type === "webhook.test") this.forged++
      else if (this.seen.has(message.data.id)) this.again++
      else {
        this.seen.add(message.data.id)
        this.count++
        const { seq, session_id } = message.data
        this.sequences.set(session_id, [...(this.sequences.get(session_id) ?? []), seq])
      }
      // Now and then what was taken in is not confirmed.
      if (this.count % 97 === 0) response.socket?.destroy()
      else response.writeHead(204).end()
    })
    this.server = server
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
    return (server.address() as AddressInfo).port
  }

  async kill(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve))
    this.server.closeAllConnections()
    await closed
  }
}

const databases = [
  { database: "SQLite", environment: async () => ({}) },
  { database: "PostgreSQL", environment: async () => ({ REINS_DATABASE_URL: await place.newPostgresDatabase() }) }
] as const

for (const { database, environment } of databases) {
  const { events, kills, sessions } = deliveries[database]
  describe(`on ${database}`, () => {
    it(`${events} deliveries arrive, in the order of each session, through ${kills} kills of the server and of the receiver`, {
      timeout: 1_200_000 + soakMs
    }, async () => {
      const receiver = new Receiver()
      const port = await receiver.listen()
      const options: ServerOptions = {
        dataDir: place.dataDir,
        env: { ...(await environment()), REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1" },
        args: ["--port", String(await steadyPort())]
      }
      let server = await startServer(options)
      const caller = await newCaller(server, place.dataDir, undefined, options.env)
      const reins = caller.at(server, { maxRetries: 30 })
      const ids = await Promise.all(upTo(sessions).map(() => caller.newSession(reins)))
      const [first = ""] = ids
      const { workspace_id } = await reins.sessions.get({ session_id: first })
      const endpoint = await reins.webhooks.createEndpoint({ workspace_id, url: `http://127.0.0.1:${port}/hook` })
      receiver.secret = endpoint.secret
      const started = await Promise.all(ids.map((session_id) => reins.sessions.get({ session_id })))
      const each = events / sessions
      let made = 0
      const writing = Promise.all(
        ids.map(async (session_id) => {
          for (let number = 1; number <= each; number++) {
            await reins.sessions.update({ session_id, title: `title ${number}` })
            made++
          }
        })
      )
      const isRetried = new Set<string>()
      /** Does by hand at once what the back-off would do after a while. */
      const retryAll = async () => {
        for await (const { id, retry_at } of reins.webhooks.listDeliveries({
          webhook_endpoint_id: endpoint.id,
          state: "pending"
        }))
          if (retry_at !== null) {
            isRetried.add(id)
            await reins.webhooks.retryDelivery({ webhook_delivery_id: id })
          }
      }
      let killed = 0
      while (receiver.count < events) {
        if (killed < kills && made >= (events / (kills + 1)) * (killed + 1)) {
          killed++
          server.kill("SIGKILL")
          await Promise.all([server.ended, receiver.kill()])
          server = await startServer(options)
          await receiver.listen(port)
        }
        await retryAll()
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      await writing
      server.kill("SIGKILL")
      await server.ended
      await receiver.kill()
      assert.strictEqual(killed, kills)
      assert.strictEqual(receiver.forged, 0)
      assert.strictEqual(receiver.count, events)
      for (const { event_watermark, id } of started)
        assert.deepStrictEqual(
          receiver.sequences.get(id),
          upTo(each).map((number) => event_watermark + number)
        )
      process.stdout.write(
        `${database}: ${events} deliveries, ${killed} kills, ${isRetried.size} retried, ${receiver.again} came again: 0 lost\n`
      )
    })
  })
}
