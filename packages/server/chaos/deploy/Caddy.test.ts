import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { newCaller } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, it } from "vitest"
import { readStream } from "../events/EventReaders.js"
import { deployed } from "./Deploy.js"
import { assertSocket } from "./EditorSocket.js"
import { assertHidden } from "./Hidden.js"

const place = placeForEachTest(inMemory)

it("behind Caddy events go out at once, editors speak WebSocket, figures stay inside, and a client's address is known", {
  timeout: 300_000
}, async () => {
  const server = await startServer({
    dataDir: place.dataDir,
    env: { REINS_METRICS: "on", REINS_LOG_LEVEL: "info", REINS_TRUSTED_PROXIES: "127.0.0.1", REINS_ACP: "on" }
  })
  const port = await steadyPort()
  const caddy = spawn("caddy", ["run", "--config", deployed("Caddyfile"), "--adapter", "caddyfile"], {
    env: {
      PATH: process.env["PATH"],
      HOME: join(place.directory, "caddy"),
      REINS_SITE: `http://127.0.0.1:${port}`,
      REINS_UPSTREAM: new URL(server.url).host
    },
    stdio: "ignore"
  })
  const ended = once(caddy, "exit")
  try {
    const url = `http://127.0.0.1:${port}`
    await eventually(
      "Caddy answers",
      () =>
        fetch(`${url}/healthz`).then(
          ({ ok }) => ok,
          () => false
        ),
      20_000
    )
    assert.strictEqual((await fetch(`${server.url}/metrics`)).status, 200)
    await assertHidden(port)

    const caller = await newCaller(server, place.dataDir)
    const reins = caller.at({ url })
    const sessionId = await caller.newSession(reins)
    for (let count = 0; count < 6; count++) await assertSocket(url, caller.apiKey)
    // The stream would last for minutes: an event that arrives within it was not kept back until its end.
    let arrived = false
    await readStream(
      { baseUrl: url, apiKey: caller.apiKey, sessionId },
      {
        query: "max_seconds=100",
        onBlock: ({ text }) => {
          if (text.includes(": watermark "))
            void reins.messages.send({ session_id: sessionId, content: "a note by way of Caddy", routing: "note" })
          arrived ||= text.includes("a note by way of Caddy")
          return !arrived
        }
      }
    )
    assert.isTrue(arrived)

    await fetch(`${url}/api/nowhere`, { headers: { "x-request-id": "spoofed", "x-forwarded-for": "203.0.113.9" } })
    const line = await eventually("the line of the request", () =>
      server
        .log()
        .split("\n")
        .find((each) => each.includes("spoofed"))
    )
    assert.strictEqual(JSON.parse(line).annotations.client, "127.0.0.1", "Caddy believes nobody's X-Forwarded-For")
  } finally {
    caddy.kill("SIGTERM")
    await ended
  }
})
