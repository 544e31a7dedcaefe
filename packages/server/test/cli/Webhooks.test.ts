import { once } from "node:events"
import http, { type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { timeOf } from "@reins/cli/client/WebhookDeliveries"
import { webhooks } from "@reins/client"
import { eventually } from "@reins/testing/process/Waiting"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { reinsAt, worldForFile } from "./Cli.js"

const world = worldForFile()

let answer = (response: ServerResponse): unknown => response.writeHead(204).end()
const received: Array<{ readonly body: string; readonly headers: http.IncomingHttpHeaders }> = []
const receiver = http.createServer(async (request, response) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  received.push({ body: Buffer.concat(chunks).toString(), headers: request.headers })
  answer(response)
})
beforeAll(() => once(receiver.listen(0, "127.0.0.1"), "listening"))
afterAll(() => void receiver.close())
const url = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`

const succeed = async (...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = await reinsAt(world().at, ["webhooks", ...args])
  assert.strictEqual(status, 0, stderr)
  return { stderr, stdout }
}
const refuse = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { status, stderr } = await reinsAt(world().at, ["webhooks", ...args])
  assert.strictEqual(status, 1, stderr)
  return stderr
}
const linesOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))

/** Makes an endpoint, and gives its id and its secret. */
const added = async (...args: ReadonlyArray<string>) => {
  const { stderr, stdout } = await succeed("add", url(), ...args)
  const id = /^The secret of (whe_\w+) is shown only once:$/m.exec(stderr)?.[1] ?? assert.fail(stderr)
  return { id, secret: stdout.trimEnd() }
}

const newEvent = async () => {
  const { client, workspaceId } = world()
  const session = await client.sessions.create({ workspace_id: workspaceId, harness: { provider_id: "alpha" } })
  return session.id
}

describe("reins webhooks", () => {
  it("adds an endpoint whose secret proves what it is sent, lists, rotates, turns off and removes it", async () => {
    assert.include((await succeed("ls")).stderr, "There is no endpoint yet.")
    const { id, secret } = await added("--types", "turn.*, session.created", "--description", "The bot")
    const listed = (await succeed("ls")).stdout
    assert.match(listed, /^ENDPOINT +STATE +WAITING +TYPES +URL\n/)
    assert.match(listed, new RegExp(`^${id} +enabled +0 +turn\\.\\*,session\\.created +${url()}$`, "m"))
    assert.deepInclude(linesOf((await succeed("ls", "--json")).stdout)[0], { id, description: "The bot" })
    assert.match((await succeed("test", id)).stderr, /^It got through: 204 after \d+ ms\.$/m)
    const last = received.at(-1)
    const message = await webhooks.verify(last?.body ?? "", last?.headers ?? {}, secret)
    assert.strictEqual(message.type, "webhook.test")

    const rotated = await succeed("rotate", id, "--overlap", "0")
    assert.include(rotated.stderr, "The one before signs nothing any more.")
    await succeed("test", id)
    const next = received.at(-1)
    await webhooks.verify(next?.body ?? "", next?.headers ?? {}, rotated.stdout.trimEnd())
    assert.match((await succeed("rotate", id)).stderr, /The one before signs too until 20/)

    assert.include((await succeed("disable", id)).stderr, "It is sent nothing")
    assert.match((await succeed("ls")).stdout, /disabled \(by_hand\)/)
    assert.include(await refuse("test", id), "The endpoint is disabled")
    assert.include((await succeed("enable", id)).stderr, "Deliveries that wait: 0.")
    assert.include((await succeed("rm", id)).stderr, `${url()} (${id}) is sent nothing any more.`)
    assert.include((await succeed("ls")).stderr, "There is no endpoint yet.")
  })

  it("tells what a receiver says to a test, and what became of each attempt", async () => {
    const { id } = await added()
    answer = (response) => response.writeHead(503, { "retry-after": "600" }).end("not \u001b[31mnow")
    const said = await refuse("test", id)
    assert.strictEqual(said, "reins: The test did not get through. It was answered with 503. not  [31mnow\n")
    const [test] = linesOf((await succeed("deliveries", id, "--state", "failed", "--json")).stdout)
    const shown = (await succeed("deliveries", test.id)).stdout
    assert.match(shown, new RegExp(`^${test.id} +failed +1 +\\S+ \\S+ +- +webhook\\.test +-$`, "m"))
    assert.match(shown, /^1 +\S+ \S+ +503 +\d+ ms +It was answered with 503\. not {1,2}\[31mnow$/m)
    const session = await newEvent()
    await eventually("a pause", async () => /paused until/.test((await succeed("ls")).stdout))
    assert.match(
      (await succeed("deliveries", id, "--state", "pending")).stdout,
      new RegExp(`session\\.created +${session}`)
    )
    answer = (response) => response.writeHead(204).end()
    await succeed("rm", id)
  })

  it("delivers again one delivery, or what has failed since a time", async () => {
    const { id } = await added("--types", "session.created")
    await newEvent()
    const done = () => world().client.webhooks.listDeliveries({ webhook_endpoint_id: id, state: "succeeded" })
    const [delivery] = await eventually("a delivery", async () => {
      const { items } = await done()
      return items.length === 1 && items
    })
    const before = received.length
    assert.include((await succeed("redeliver", delivery?.id ?? "")).stderr, "It is delivered again.")
    await eventually("the delivery", () => received.length === before + 1)
    await eventually("its end", async () => (await done()).items.length === 1)
    assert.include((await succeed("redeliver", id, "--since", "1h")).stderr, "0 deliveries are made again.")
    const again = await succeed("redeliver", id, "--since", "1h", "--state", "succeeded")
    assert.include(again.stderr, "1 delivery is made again.")
    await eventually("the delivery", () => received.length === before + 2)
    assert.include(await refuse("redeliver", id), "Say since when")
    assert.include(await refuse("redeliver", delivery?.id ?? "", "--since", "1h"), "is one delivery")
    assert.include(await refuse("redeliver", id, "--since", "soon"), "soon is no time")
    assert.include(await refuse("add", url(), "--types", "turn.ended"), 'There is no event "turn.ended"')
    assert.include(await refuse("deliveries", id, "--limit", "0"), "--limit")
    await succeed("rm", id)
  })

  it("takes a time, or how long ago it was", () => {
    const nowMs = Date.parse("2026-11-23T12:00:00.000Z")
    const times = ["90m", "12h", "3d", "2026-11-23", "2026-11-23T08:00Z", "2026-11-23T08:00:01.5+02:00"]
    assert.deepStrictEqual(
      times.map((text) => timeOf(text, nowMs)),
      [
        "2026-11-23T10:30:00.000Z",
        "2026-11-23T00:00:00.000Z",
        "2026-11-20T12:00:00.000Z",
        "2026-11-23T00:00:00.000Z",
        "2026-11-23T08:00:00.000Z",
        "2026-11-23T06:00:01.500Z"
      ]
    )
    for (const wrong of ["", "1", "h", "-1h", "1w", "2026-13-01", "2026-11-23T08:00", "yesterday"])
      assert.throws(() => timeOf(wrong, nowMs), /is no time/)
  })
})
