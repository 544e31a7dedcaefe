import http, { type IncomingHttpHeaders, type RequestListener } from "node:http"
import { tmpdir } from "node:os"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Manifests } from "@reins/machine/harness/Manifests"
import type { HarnessConnection } from "@reins/machine/harness/TurnInput"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { CredentialProxy } from "@reins/machine/relay/gateway/CredentialProxy"
import type { CallObserver } from "@reins/machine/relay/gateway/ModelCall"
import { Loans } from "@reins/machine/relay/Loans"
import { ToolLoans } from "@reins/machine/relay/mcp/ToolLoans"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { Effect, Layer, Redacted } from "effect"

export const key = 'sk-real"key/Zq8rT2vX5nB7'

/** The proxy of a service whose operator allows the given private hosts. */
export const servicesWith = (allowPrivateHosts: ReadonlyArray<string>) =>
  Layer.merge(CredentialProxy.layer, ToolLoans.layer).pipe(
    Layer.provide([
      Loans.layer,
      CoreConfig.layer({ dataDir: tmpdir() }),
      Manifests.layer,
      Outbound.layerWith({ allowPrivateHosts })
    ])
  )

export const services = servicesWith(["127.0.0.1", "gateway.invalid"])

/** A gateway on loopback with the base path `/v1`. */
export const gatewayOf = (listener: RequestListener) =>
  Effect.map(
    onLoopback(() => http.createServer(listener)),
    (port) => `http://127.0.0.1:${port}/v1`
  )

const connectionTo = (baseUrl: string, apiKey = key): HarnessConnection => ({
  kind: "alpha_gateway",
  settings: { base_url: baseUrl, protocol: "openai_chat" },
  secrets: { api_key: Redacted.make(apiKey) }
})

export const lend = (connection: HarnessConnection, observer?: CallObserver) =>
  Effect.flatMap(CredentialProxy, (proxy) => proxy.lend(connection)).pipe(
    Effect.tap((lent) => lent.open(connection, observer)),
    Effect.map((lent) => lent.connection)
  )

export const lentTo = (baseUrl: string, apiKey?: string, observer?: CallObserver) =>
  Effect.map(lend(connectionTo(baseUrl, apiKey), observer), ({ secrets, settings }) => ({
    url: settings["base_url"] ?? "",
    token: secrets["api_key"] === undefined ? "" : Redacted.value(secrets["api_key"])
  }))

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

interface Question {
  readonly method?: string
  /** As it stands in the request line, instead of the path of the URL. */
  readonly path?: string
  readonly headers?: http.OutgoingHttpHeaders
  readonly body?: string | Buffer
  readonly onChunk?: (text: string) => void
  readonly onError?: (received: string) => void
}

export const ask = (url: string, { body, headers = {}, method = "GET", onChunk, onError, path }: Question = {}) =>
  Effect.async<Answer, Error>((resume) => {
    const request = http.request(url, { method, headers, agent: false, ...(path === undefined ? {} : { path }) })
    request.on("error", (error) => resume(Effect.fail(error)))
    request.on("response", (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        onChunk?.(chunk.toString())
      })
      response.on("error", (error) => {
        onError?.(Buffer.concat(chunks).toString())
        resume(Effect.fail(error))
      })
      response.on("end", () =>
        resume(
          Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) })
        )
      )
    })
    request.end(body)
    return Effect.sync(() => request.destroy())
  })

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

export const errorOf = (answer: Answer): { readonly type: string; readonly message: string } =>
  JSON.parse(answer.body.toString()).error
