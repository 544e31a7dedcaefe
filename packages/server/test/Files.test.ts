import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it, layer } from "@effect/vitest"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import { UploadId } from "@reins/base/domain/Ids"
import { Effect, Layer, Schema } from "effect"
import { Target } from "./FilesTarget.js"
import { Caller, change, codeOf, send, service } from "./Service.js"
import { newSession } from "./Sessions.js"

const withTarget = Target.layer.pipe(Layer.provideMerge(service()))

layer(withTarget, { excludeTestServices: true })("files over HTTP", (it) => {
  it.effect("an upload is answered with what can be listed and read again", () =>
    Effect.gen(function* () {
      const { bearer: headers } = yield* Caller
      const target = yield* Target
      const body = { path: "src/a.bin", content: "AP8=", encoding: "base64", mode: "0755", expected_digest: "absent" }
      const digest = `sha256:${createHash("sha256")
        .update(Buffer.from([0, 255]))
        .digest("hex")}`
      const put = yield* change("POST", target.upload, { headers, body })
      const { upload_id } = yield* Schema.decodeUnknown(Schema.Struct({ upload_id: UploadId }))(put.json)
      assert.deepStrictEqual(
        [put.status, put.json],
        [200, { upload_id, file: { path: "src/a.bin", size: 2, digest, place: "workspace" } }]
      )
      const read = yield* send("GET", `${target.content}?path=src/a.bin`, { headers })
      assert.deepStrictEqual(read.json, {
        path: "src/a.bin",
        encoding: "base64",
        content: "AP8=",
        size: 2,
        digest,
        truncated: false
      })
      const List = Schema.Struct({ items: Schema.Array(Schema.Struct({ name: Schema.String, mode: Schema.String })) })
      const listed = yield* Schema.decodeUnknown(List)(
        (yield* send("GET", `${target.files}?path=src`, { headers })).json
      )
      assert.deepStrictEqual(listed.items, [{ name: "a.bin", mode: "0755" }])
      const root = yield* Schema.decodeUnknown(List)((yield* send("GET", target.files, { headers })).json)
      assert.includeMembers(
        root.items.map((item) => item.name),
        ["dir", "src"]
      )
      const other = yield* change("POST", target.upload, { headers, body: { ...body, content: "AAAA" } })
      assert.deepStrictEqual([other.status, codeOf(other)], [409, "version_conflict"])
      assert.include(other.text, digest)
      assert.strictEqual((yield* send("GET", target.content, { headers })).status, 422)
    })
  )

  it.effect("an upload with its key again is answered the same and writes nothing new", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const target = yield* Target
      const headers = { ...bearer, "idempotency-key": "upload-once" }
      const body = { path: "once.txt", content: "one" }
      const first = yield* send("POST", target.upload, { headers, body })
      fs.writeFileSync(join(target.root, "once.txt"), "the agent has changed it")
      const again = yield* send("POST", target.upload, { headers, body })
      assert.deepStrictEqual([again.status, again.text], [first.status, first.text])
      assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
      assert.strictEqual(fs.readFileSync(join(target.root, "once.txt"), "utf8"), "the agent has changed it")
    })
  )

  it.effect("a file of 25 MiB is taken and one byte more is not, here alone", () =>
    Effect.gen(function* () {
      const { bearer: headers } = yield* Caller
      const target = yield* Target
      const content = Buffer.alloc(defaultLimits.uploadBytes, 7).toString("base64")
      const put = yield* change("POST", target.upload, {
        headers,
        body: { path: "large", content, encoding: "base64" }
      })
      assert.strictEqual(put.status, 200, put.text.slice(0, 300))
      assert.strictEqual(fs.statSync(join(target.root, "large")).size, defaultLimits.uploadBytes)
      const read = yield* send("GET", `${target.content}?path=large`, { headers })
      const decoded = yield* Schema.decodeUnknown(Schema.Struct({ truncated: Schema.Boolean, size: Schema.Int }))(
        read.json
      )
      assert.deepStrictEqual(decoded, { truncated: true, size: defaultLimits.uploadBytes })
      const more = Buffer.alloc(defaultLimits.uploadBytes + 1, 7).toString("base64")
      const body = { path: "larger", content: more, encoding: "base64" }
      const refused = yield* change("POST", target.upload, { headers, body })
      assert.deepStrictEqual([refused.status, codeOf(refused)], [413, "payload_too_large"])
      assert.isFalse(fs.existsSync(join(target.root, "larger")))
      const elsewhere = yield* change("POST", target.upload.replace("file-uploads", "messages"), {
        headers,
        body: { content: "x".repeat(1024 * 1024) }
      })
      assert.deepStrictEqual([elsewhere.status, codeOf(elsewhere)], [413, "payload_too_large"])
    })
  )
})

describe("conditional writes", () => {
  it.scopedLive("If-Match stands for expected_version", () =>
    Effect.gen(function* () {
      const { sessionId } = yield* newSession
      const { bearer } = yield* Caller
      const path = `/api/sessions/${sessionId}`
      const read = yield* send("GET", path, { headers: bearer })
      const etag = read.headers.get("etag") ?? ""
      assert.match(etag, /^"\d+"$/)
      const patched = yield* change("PATCH", path, { headers: { ...bearer, "if-match": etag }, body: { title: "New" } })
      assert.strictEqual(patched.status, 200)
      const stale = yield* change("PATCH", path, { headers: { ...bearer, "if-match": etag }, body: { title: "Stale" } })
      assert.deepStrictEqual([stale.status, codeOf(stale)], [409, "version_conflict"])
      const any = yield* change("PATCH", path, { headers: { ...bearer, "if-match": "*" }, body: { title: "Any" } })
      assert.strictEqual(any.status, 200)
      const odd = yield* change("PATCH", path, { headers: { ...bearer, "if-match": "three" }, body: { title: "Odd" } })
      assert.strictEqual(odd.status, 422)
      assert.include(odd.text, '"If-Match"')
    }).pipe(Effect.provide(service()))
  )
})
