import { createHash } from "node:crypto"
import type { BlobAddress } from "@reins/base/base/BlobAddress"
import { AwsV4Signer } from "aws4fetch"
import { Effect, Schedule, Stream } from "effect"
import { BlobError, type BlobStore } from "./BlobStore.js"

type BucketAddress = Extract<BlobAddress, { readonly kind: "s3" }>

/** The bytes that are sent at once, and held in memory for that. S3 takes no smaller part but the last, and 10,000 parts at most. */
const partBytes = 8 * 1024 * 1024

const maxParts = 10_000

/** Milliseconds in which the service has to take a part, or to begin an answer. */
const requestMs = 60_000

/** A request to the service. Its body is at most one part. */
interface BucketRequest {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE"
  /** Below the bucket, not encoded. */
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const elementOf = (name: string, text: string): string | undefined =>
  new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1]

const unescaped = (text: string): string =>
  text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&")

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")

/** The error of an answer. The text of the service may hold what it was asked, so that only its code is shown. */
const failureOf = (status: number, text: string): BlobError => {
  const code = elementOf("Code", text)
    ?.replace(/[^\w.]/g, "")
    .slice(0, 60)
  const said = code === undefined ? `${status}` : `${status} ${code}`
  if (status === 404 && code !== "NoSuchBucket")
    return new BlobError({ reason: "missing", message: "The bucket does not hold the blob." })
  if (status === 507 || (code !== undefined && /Quota|StorageFull/.test(code)))
    return new BlobError({ reason: "full", message: `The bucket is full (${said}): make room, or raise its quota.` })
  if (status === 408 || status === 429 || status >= 500 || code === "RequestTimeout")
    return new BlobError({ reason: "unavailable", message: `The service of the bucket cannot do it now (${said}).` })
  return new BlobError({
    reason: "refused",
    message: `The service of the bucket refuses (${said}): check REINS_BLOBS, the AWS_ variables and the clock of this machine.`
  })
}

const unreachable = (cause: unknown): BlobError => {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const code = inner instanceof Error && "code" in inner ? ` (${String(inner.code)})` : ""
  return new BlobError({
    reason: "unavailable",
    message: `The service of the bucket does not answer${code}: check the endpoint of REINS_BLOBS and the network.`
  })
}

/** The variables that AWS's own tools read, so that whatever gives them credentials gives them to the service. */
const credentialsOf = (environment: NodeJS.ProcessEnv) => {
  const accessKeyId = environment["AWS_ACCESS_KEY_ID"]
  const secretAccessKey = environment["AWS_SECRET_ACCESS_KEY"]
  const sessionToken = environment["AWS_SESSION_TOKEN"]
  if (!accessKeyId || !secretAccessKey) return undefined
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
}

const noCredentials = new BlobError({
  reason: "refused",
  message: "There are no credentials for the bucket: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
})

/** Sends signed requests, and tries them again while the service cannot answer. */
const requester = (address: BucketAddress, environment: NodeJS.ProcessEnv) => {
  const region = address.region ?? environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? "us-east-1"
  const root =
    address.endpoint === null
      ? `https://${address.bucket}.s3.${region}.amazonaws.com`
      : `${address.endpoint}/${address.bucket}`
  const cache = new Map<string, ArrayBuffer>()

  const urlOf = ({ key, query = {} }: BucketRequest): string => {
    const path = key.split("/").map(encodeURIComponent).join("/")
    const search = new URLSearchParams(query).toString()
    return `${root}/${path}${search === "" ? "" : `?${search}`}`
  }

  const send = async (request: BucketRequest, interrupted: AbortSignal): Promise<Response> => {
    const credentials = credentialsOf(environment)
    if (credentials === undefined) throw noCredentials
    const body = request.body === undefined ? {} : { body: request.body }
    const signed = await new AwsV4Signer({
      ...credentials,
      method: request.method,
      url: urlOf(request),
      // The service compares what arrives with this, so what is stored is what was sent.
      headers: { "x-amz-content-sha256": hashOf(request.body ?? new Uint8Array()) },
      ...body,
      service: "s3",
      region,
      cache
    }).sign()
    const begun = new AbortController()
    const timer = setTimeout(() => begun.abort(new Error("no answer in time")), requestMs)
    try {
      return await fetch(signed.url, {
        method: signed.method,
        headers: signed.headers,
        ...body,
        redirect: "manual",
        signal: AbortSignal.any([interrupted, begun.signal])
      })
    } finally {
      clearTimeout(timer)
    }
  }

  return (request: BucketRequest, accepted: ReadonlyArray<number> = []): Effect.Effect<Response, BlobError> =>
    Effect.tryPromise({
      try: async (signal) => {
        const answer = await send(request, signal)
        if (answer.ok || accepted.includes(answer.status)) return answer
        throw failureOf(answer.status, await answer.text())
      },
      catch: (cause) => (cause instanceof BlobError ? cause : unreachable(cause))
    }).pipe(
      Effect.retry({
        while: ({ reason }) => reason === "unavailable",
        schedule: Schedule.intersect(Schedule.jittered(Schedule.exponential("200 millis")), Schedule.recurs(3))
      })
    )
}

type Send = ReturnType<typeof requester>

/** The content in parts of one size, but for the last one. There is at least one. */
async function* partsOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces: Array<Uint8Array> = []
  let size = 0
  for await (const piece of content) {
    for (let at = 0; at < piece.length; ) {
      const taken = piece.subarray(at, at + partBytes - size)
      pieces.push(taken)
      size += taken.length
      at += taken.length
      if (size < partBytes) continue
      yield Buffer.concat(pieces)
      pieces = []
      size = 0
    }
  }
  yield Buffer.concat(pieces)
}

const textOf = (answer: Response) => Effect.tryPromise({ try: () => answer.text(), catch: unreachable })

/** Sends the parts one after the other, which bounds the memory, and puts them together. What was sent is taken back when that fails. */
const inParts = Effect.fnUntraced(function* (send: Send, key: string, content: AsyncIterable<Uint8Array>) {
  const begun = yield* Effect.flatMap(send({ method: "POST", key, query: { uploads: "" } }), textOf)
  const uploadId = unescaped(elementOf("UploadId", begun) ?? "")
  const abort = Effect.ignore(send({ method: "DELETE", key, query: { uploadId } }, [404]))
  yield* Effect.gen(function* () {
    const tags: Array<string> = []
    yield* Stream.runForEach(Stream.fromAsyncIterable(partsOf(content), unreachable), (body) =>
      Effect.gen(function* () {
        if (body.length === 0 && tags.length > 0) return
        const query = { partNumber: String(tags.length + 1), uploadId }
        const { headers } = yield* send({ method: "PUT", key, query, body })
        tags.push(headers.get("etag") ?? "")
      })
    )
    const list = tags.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`)
    const body = Buffer.from(`<CompleteMultipartUpload>${list.join("")}</CompleteMultipartUpload>`)
    // An answer that begins with 200 may still end with an error.
    const ended = yield* Effect.flatMap(send({ method: "POST", key, query: { uploadId }, body }), textOf)
    if (elementOf("Code", ended) !== undefined) return yield* failureOf(500, ended)
  }).pipe(Effect.onError(() => abort))
})

const collected = (content: AsyncIterable<Uint8Array>) =>
  Effect.tryPromise({
    try: async () => {
      const pieces: Array<Uint8Array> = []
      for await (const piece of content) pieces.push(piece)
      return Buffer.concat(pieces)
    },
    catch: unreachable
  })

/**
 * Blobs as objects of a bucket of S3, or of a service that speaks like it. The credentials are those of the variables that AWS's tools read. The
 * service is asked directly, without a proxy. Nothing relies on conditional writes, which not every service has: equal names have equal contents.
 */
export const blobBucket = (address: BucketAddress, environment: NodeJS.ProcessEnv): BlobStore => {
  const send = requester(address, environment)
  const keyOf = (hex: string): string =>
    [...(address.prefix === "" ? [] : [address.prefix]), hex.slice(0, 2), hex].join("/")
  return {
    maxBytes: partBytes * maxParts,
    write: ({ hex, size }, content) =>
      size > partBytes
        ? inParts(send, keyOf(hex), content)
        : Effect.flatMap(collected(content), (body) => Effect.asVoid(send({ method: "PUT", key: keyOf(hex), body }))),
    read: (hex) =>
      Stream.unwrap(
        Effect.map(send({ method: "GET", key: keyOf(hex) }), ({ body }) =>
          body === null ? Stream.empty : Stream.fromAsyncIterable<Uint8Array, BlobError>(body, unreachable)
        )
      ),
    has: (hex) => Effect.map(send({ method: "HEAD", key: keyOf(hex) }, [404]), ({ status }) => status !== 404),
    remove: (hex) => Effect.asVoid(send({ method: "DELETE", key: keyOf(hex) }, [404]))
  }
}
