import { request } from "node:http"
import { placeForEachTest } from "@reins/testing/process/Place"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, it } from "vitest"
import { twoMachines } from "./Machines.js"

const place = placeForEachTest()

/** The requests for a path that a node has begun and not ended. */
const running = async ({ url }: { readonly url: string }, path: string) => {
  const page = await (await fetch(`${url}/metrics`)).text()
  const lines = [...page.matchAll(/^reins_http_requests_in_progress\{(.*)\} (\d+)$/gm)].filter(([, labels = ""]) =>
    labels.includes(path)
  )
  assert.isNotEmpty(lines, page)
  return lines.reduce((sum, [, , count]) => sum + Number(count), 0)
}

it("a client that goes away ends its request that was sent on, in the midst of the answer and before it", async () => {
  const path = "large.txt"
  const large = "x".repeat(8 * 1024 * 1024)
  const { caller, other, server, session_id } = await twoMachines(place, (given, first, id) =>
    given.at(first).sessions.uploadFile({ session_id: id, path, content: large, encoding: "utf-8" })
  )
  const url = `${other.url}/api/sessions/${session_id}/files/content?path=${path}`
  const ask = () => request(url, { headers: { authorization: `Bearer ${caller.apiKey}` } })
  const reading = () => running(other, "files/content")

  await new Promise<void>((resolve, reject) => {
    const asked = ask()
    asked.on("response", (answer) => answer.once("data", () => resolve(void asked.destroy())))
    asked.on("error", reject).end()
  }).catch(() => undefined)
  await eventually("the answer that was broken off is over", async () => (await reading()) === 0)

  server.kill("SIGSTOP")
  const waiting = ask()
  waiting.on("error", () => undefined).end()
  await eventually("the request waits for the other node", async () => (await reading()) === 1, 20_000)
  waiting.destroy()
  await eventually("it is over, though that node has not answered", async () => (await reading()) === 0, 20_000)
  server.kill("SIGKILL")
})

it("a request that changes something has ended at both nodes once it is answered", async () => {
  const { caller, other, server, session_id } = await twoMachines(place, (given, first, id) =>
    given.at(first).sessions.uploadFile({ session_id: id, path: "a.txt", content: "one", encoding: "utf-8" })
  )
  await caller.at(other).sessions.uploadFile({ session_id, path: "b.txt", content: "two", encoding: "utf-8" })
  for (const node of [other, server])
    await eventually("the upload is over", async () => (await running(node, "file-uploads")) === 0)
})
