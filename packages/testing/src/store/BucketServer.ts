import { createHash, createHmac } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Effect } from "effect"

/** The credentials that the server accepts. */
export const bucketCredentials = {
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  AWS_SESSION_TOKEN: "session-token-example"
}

export const bucketRegion = "eu-test-1"

const leastPart = 5 * 1024 * 1024

interface Received {
  readonly method: string
  readonly url: URL
  readonly rawUrl: string
  readonly headers: IncomingMessage["headers"]
  readonly body: Buffer
}

const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const hmac = (key: string | Uint8Array, text: string): Buffer => createHmac("sha256", key).update(text).digest()

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

/** The parameters of a query as a signature covers them: encoded, and in the order of their bytes. */
const canonicalQuery = (url: URL): string =>
  [...url.searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&")

/**
 * The reason why a request is not signed as "Authenticating Requests (AWS Signature Version 4)" of the S3 documentation tells, or null. It is made
 * from that text alone, so that it does not share a mistake with the signer.
 */
const wrongSignature = ({ body, headers, method, rawUrl, url }: Received): string | null => {
  const [, key, day, region, signedHeaders = "", signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? ""
    ) ?? []
  if (key === undefined || day === undefined || region === undefined) return "AccessDenied"
  if (key !== bucketCredentials.AWS_ACCESS_KEY_ID) return "InvalidAccessKeyId"
  if (headers["x-amz-security-token"] !== bucketCredentials.AWS_SESSION_TOKEN) return "InvalidToken"
  if (region !== bucketRegion) return "AuthorizationHeaderMalformed"
  const names = signedHeaders.split(";")
  const required = ["host", ...Object.keys(headers).filter((name) => name.startsWith("x-amz-"))]
  if (required.some((name) => !names.includes(name))) return "AccessDenied"
  const date = String(headers["x-amz-date"])
  if (Math.abs(Date.parse(date.replace(/^(....)(..)(..T..)(..)(..Z)$/, "$1-$2-$3:$4:$5")) - Date.now()) > 900_000)
    return "RequestTimeTooSkewed"
  const payload = String(headers["x-amz-content-sha256"])
  const canonical = [
    method,
    rawUrl.split("?")[0],
    canonicalQuery(url),
    ...names.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, " ")}`),
    "",
    signedHeaders,
    payload
  ].join("\n")
  const scope = `${day}/${region}/s3/aws4_request`
  const toSign = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n")
  const secret = `AWS4${bucketCredentials.AWS_SECRET_ACCESS_KEY}`
  const signing = [day, region, "s3", "aws4_request"].reduce<string | Buffer>(hmac, secret)
  if (hmac(signing, toSign).toString("hex") !== signature) return "SignatureDoesNotMatch"
  return payload === sha256(body) ? null : "XAmzContentSHA256Mismatch"
}

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const pieces: Array<Buffer> = []
  for await (const piece of request) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

/** A bucket in memory, behind the part of the API of S3 that blobs need. It refuses whatever is not signed as S3 wants it. */
export interface BucketServer {
  readonly endpoint: string
  /** The objects by their keys. A test may change them. */
  readonly objects: Map<string, Buffer>
  /** The uploads in parts that were begun and neither completed nor aborted. */
  readonly uploads: Map<string, Map<number, Buffer>>
  /** The requests, as `METHOD /path?query`. */
  readonly requests: Array<string>
  /** Makes the next answers these, each a status and a code. */
  readonly failures: Array<readonly [status: number, code: string]>
}

const errorText = (code: string): string =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`

/** Answers a request that is signed. */
const answer = (
  { objects, uploads }: BucketServer,
  { body, method, url }: Received,
  response: ServerResponse
): void => {
  const key = decodeURIComponent(url.pathname).replace(/^\/[^/]+\//, "")
  const uploadId = url.searchParams.get("uploadId")
  const parts = uploadId === null ? undefined : uploads.get(uploadId)
  const end = (status: number, text: string | Buffer = "", headers = {}) =>
    response.writeHead(status, headers).end(text)
  if (method === "POST" && url.searchParams.has("uploads")) {
    // The quotes of an id have to be unescaped by whoever reads it.
    const id = `upload"${uploads.size + 1}`
    uploads.set(id, new Map())
    return void end(200, `<R><Key>${key}</Key><UploadId>${id.replace('"', "&quot;")}</UploadId></R>`)
  }
  if (uploadId !== null) {
    if (parts === undefined) return void end(404, errorText("NoSuchUpload"))
    if (method === "DELETE") {
      uploads.delete(uploadId)
      return void end(204)
    }
    if (method === "PUT") {
      parts.set(Number(url.searchParams.get("partNumber")), body)
      return void end(200, "", { etag: `"${sha256(body).slice(0, 32)}"` })
    }
    const listed = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>&quot;([^<]*)&quot;<\/ETag>/g)]
    const chosen = listed.map(([, number, tag]) => ({ bytes: parts.get(Number(number)), tag }))
    const wrong = chosen.some(({ bytes, tag }) => bytes === undefined || sha256(bytes).slice(0, 32) !== tag)
    if (wrong || listed.length === 0) return void end(400, errorText("InvalidPart"))
    if (chosen.slice(0, -1).some(({ bytes }) => (bytes?.length ?? 0) < leastPart))
      return void end(400, errorText("EntityTooSmall"))
    objects.set(key, Buffer.concat(chosen.flatMap(({ bytes }) => bytes ?? [])))
    uploads.delete(uploadId)
    return void end(200, "<CompleteMultipartUploadResult/>")
  }
  if (method === "PUT") {
    objects.set(key, body)
    return void end(200)
  }
  if (method === "DELETE") {
    objects.delete(key)
    return void end(204)
  }
  const found = objects.get(key)
  if (found === undefined) return void end(404, method === "HEAD" ? "" : errorText("NoSuchKey"))
  return void end(200, method === "HEAD" ? "" : found)
}

/** A server for one test, which ends with the scope. */
export const bucketServer = Effect.acquireRelease(
  Effect.promise(async () => {
    const objects = new Map<string, Buffer>()
    const state = { objects, uploads: new Map(), requests: [] as string[], failures: [] }
    const server = createServer(async (request, response) => {
      const rawUrl = request.url ?? "/"
      const method = request.method ?? ""
      const received = {
        method,
        rawUrl,
        url: new URL(rawUrl, "http://localhost"),
        headers: request.headers,
        body: await bodyOf(request)
      }
      state.requests.push(`${method} ${rawUrl}`)
      const [status, code] = state.failures.shift() ?? ([403, wrongSignature(received)] as const)
      if (code !== null) response.writeHead(status).end(method === "HEAD" ? "" : errorText(code))
      else answer(bucket, received, response)
    })
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const bucket: BucketServer = { ...state, endpoint: `http://127.0.0.1:${port}` }
    return { bucket, server }
  }),
  ({ server }) =>
    Effect.promise(async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    })
).pipe(Effect.map(({ bucket }) => bucket))
