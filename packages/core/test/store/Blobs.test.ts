import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { blobAddress } from "@reins/base/base/BlobAddress"
import { blobBucket } from "@reins/core/store/BlobBucket"
import { blobDirectory } from "@reins/core/store/BlobDirectory"
import { Blobs } from "@reins/core/store/Blobs"
import { blobTable } from "@reins/core/store/BlobTable"
import { Database } from "@reins/core/store/Database"
import { blobSuite, contentOf, nameOf, streamOf } from "@reins/testing/store/BlobSuite"
import { type BucketServer, bucketCredentials, bucketRegion, bucketServer } from "@reins/testing/store/BucketServer"
import { databases } from "@reins/testing/store/Databases"
import { Context, Effect, Layer } from "effect"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-blobs-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

class Root extends Context.Tag("test/Root")<Root, string>() {}
class Bucket extends Context.Tag("test/Bucket")<Bucket, BucketServer>() {}

const inDirectory = Layer.provideMerge(
  Layer.effect(
    Blobs,
    Effect.map(Root, (root) => Blobs.make(blobDirectory(root)))
  ),
  Layer.scoped(Root, temporary)
)

const addressOf = ({ endpoint }: BucketServer) => ({
  kind: "s3" as const,
  bucket: "snapshots",
  prefix: "reins/a b+c",
  endpoint,
  region: bucketRegion
})

const inBucket = Layer.provideMerge(
  Layer.effect(
    Blobs,
    Effect.map(Bucket, (bucket) => Blobs.make(blobBucket(addressOf(bucket), bucketCredentials)))
  ),
  Layer.scoped(Bucket, bucketServer)
)

blobSuite("a directory", inDirectory, (hex) =>
  Effect.flatMap(Root, (root) => Effect.sync(() => truncateSync(join(root, hex.slice(0, 2), hex), 4_999)))
)

for (const { layer, name } of databases.filter((each) => each.name === "PostgreSQL"))
  blobSuite(
    name,
    Layer.provideMerge(
      Layer.effect(
        Blobs,
        Effect.map(Database, (db) => Blobs.make(blobTable(db)))
      ),
      layer
    ),
    (hex) =>
      Effect.flatMap(Database, (db) =>
        db.run(db.sql`update blob_pieces set bytes = ${Buffer.from("other")} where digest = ${hex}`)
      )
  )

blobSuite("a bucket", inBucket, (hex) =>
  Effect.map(Bucket, ({ objects }) => {
    const key = [...objects.keys()].find((each) => each.endsWith(hex)) ?? ""
    objects.set(key, Buffer.from("other"))
  })
)

describe("blobs", () => {
  const bytes = Buffer.from("a content")
  const blob = nameOf(bytes)

  it.scopedLive("of PostgreSQL name the other kinds when one is too large", () =>
    Effect.gen(function* () {
      const blobs = Blobs.make(blobTable(yield* Database))
      const error = yield* Effect.flip(blobs.put({ ...blob, size: 32 * 1024 * 1024 + 1 }, streamOf(bytes)))
      assert.strictEqual("reason" in error && error.reason, "too_large")
      assert.match(error.message, /a directory that all machines share or in S3 \(REINS_BLOBS\)/)
    }).pipe(Effect.provide(databases[1]?.layer ?? Layer.die("no PostgreSQL")))
  )

  it.scopedLive("of a directory leave no partial file, and say what is wrong with it", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      const blobs = Blobs.make(blobDirectory(root))
      yield* Effect.flip(blobs.put(blob, streamOf(Buffer.from("another one"))))
      assert.deepStrictEqual(readdirSync(join(root, blob.digest.slice(7, 9))), [])
      writeFileSync(join(root, "file"), "")
      const below = Blobs.make(blobDirectory(join(root, "file")))
      assert.strictEqual((yield* Effect.flip(below.put(blob, streamOf(bytes)))).reason, "unavailable")
    })
  )

  it.scopedLive("of a bucket are sent in parts when they are large, and a broken upload is taken back", () =>
    Effect.gen(function* () {
      const bucket = yield* bucketServer
      const blobs = Blobs.make(blobBucket(addressOf(bucket), bucketCredentials))
      const large = Buffer.alloc(17 * 1024 * 1024, 7)
      yield* blobs.put(nameOf(large), streamOf(large))
      assert.lengthOf(
        bucket.requests.filter((line) => /partNumber=/.test(line)),
        3
      )
      assert.strictEqual(bucket.uploads.size, 0)
      const damaged = yield* Effect.flip(blobs.put({ ...nameOf(large), digest: blob.digest }, streamOf(large)))
      assert.strictEqual(damaged.reason, "damaged")
      assert.strictEqual(bucket.uploads.size, 0)
      assert.strictEqual(bucket.objects.size, 1)
    })
  )

  it.scopedLive("of a bucket try again what the service cannot do at once, and nothing else", () =>
    Effect.gen(function* () {
      const bucket = yield* bucketServer
      const blobs = Blobs.make(blobBucket(addressOf(bucket), bucketCredentials))
      bucket.failures.push([503, "SlowDown"], [500, "InternalError"])
      yield* blobs.put(blob, streamOf(bytes))
      assert.isTrue(bytes.equals(yield* Effect.provideService(contentOf(blob.digest), Blobs, blobs)))
      bucket.requests.length = 0
      bucket.failures.push([403, "AccessDenied"])
      const refused = yield* Effect.flip(blobs.has(blob.digest))
      assert.strictEqual(refused.reason, "refused")
      assert.lengthOf(bucket.requests, 1)
      bucket.failures.push([507, "XMinioStorageFull"])
      assert.strictEqual((yield* Effect.flip(blobs.delete(blob.digest))).reason, "full")
    })
  )

  it.scopedLive("of a bucket say no credential when they are refused", () =>
    Effect.gen(function* () {
      const bucket = yield* bucketServer
      const wrong = { ...bucketCredentials, AWS_SECRET_ACCESS_KEY: "another-secret-key" }
      for (const environment of [wrong, { AWS_ACCESS_KEY_ID: "only-this" }]) {
        const blobs = Blobs.make(blobBucket(addressOf(bucket), environment))
        const refused = yield* Effect.flip(Effect.provideService(contentOf(blob.digest), Blobs, blobs))
        assert.strictEqual(refused.reason, "refused")
        for (const secret of Object.values(environment)) assert.notInclude(refused.message, secret)
      }
      const gone = Blobs.make(blobBucket({ ...addressOf(bucket), endpoint: "http://127.0.0.1:9" }, bucketCredentials))
      assert.strictEqual((yield* Effect.flip(gone.has(blob.digest))).reason, "unavailable")
    })
  )

  it("have an address in the settings that holds no secret", () => {
    assert.deepStrictEqual(blobAddress("directory:/var/blobs"), { kind: "directory", path: "/var/blobs" })
    assert.deepStrictEqual(blobAddress("postgres"), { kind: "postgres" })
    assert.deepStrictEqual(blobAddress("s3://bucket"), {
      kind: "s3",
      bucket: "bucket",
      prefix: "",
      endpoint: null,
      region: null
    })
    assert.deepStrictEqual(blobAddress("s3://my.bucket/a/b/?endpoint=http://minio:9000/&region=us-west-2"), {
      kind: "s3",
      bucket: "my.bucket",
      prefix: "a/b",
      endpoint: "http://minio:9000",
      region: "us-west-2"
    })
    const refused = [
      "",
      "directory:",
      "directory:relative",
      "/var/blobs",
      "s3://",
      "s3://UPPER CASE",
      "s3://key:secret@bucket",
      "s3://bucket?endpoint=ftp://x",
      "s3://bucket?secret=x",
      "https://bucket"
    ]
    for (const text of refused) assert.isUndefined(blobAddress(text), text)
  })
})
