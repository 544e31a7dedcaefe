import {
  type ClientCapabilities,
  type ClientConnection,
  type ContentBlock,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  client,
  methods,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type Stream
} from "@agentclientprotocol/sdk"
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client"
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client"
import { WebSocket } from "ws"

interface Address {
  readonly url: string
  readonly apiKey: string
}

/** An editor on the protocol's own package, which reaches the service without a program of ours. */
export interface FarEditor {
  readonly agent: ClientConnection["agent"]
  readonly updates: Array<SessionUpdate>
  readonly asked: Array<RequestPermissionRequest>
  readonly closed: Promise<void>
  readonly close: () => void
}

/** The two ways of the protocol to an address. */
export const ways = {
  HTTP: ({ apiKey, url }: Address): Stream =>
    createHttpStream(`${url}/acp`, { headers: { authorization: `Bearer ${apiKey}` } }),
  WebSocket: ({ apiKey, url }: Address): Stream =>
    createWebSocketStream(`${url.replace("http", "ws")}/acp`, {
      headers: { authorization: `Bearer ${apiKey}` },
      WebSocket
    })
} as const

/** Begins with `initialize`. A question is answered as `permission` says, and stays open without one. */
export const farEditor = async (
  stream: Stream,
  permission?: (asked: RequestPermissionRequest) => RequestPermissionResponse,
  clientCapabilities: ClientCapabilities = {},
  form?: (asked: CreateElicitationRequest) => CreateElicitationResponse
): Promise<FarEditor> => {
  const updates: Array<SessionUpdate> = []
  const asked: Array<RequestPermissionRequest> = []
  const connection = client({ name: "test" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params)
      return permission?.(params) ?? new Promise<RequestPermissionResponse>(() => undefined)
    })
    .onRequest(methods.client.elicitation.create, ({ params }) => form?.(params) ?? { action: "cancel" as const })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update)
    })
    .connect(stream)
  const { agent, closed } = connection
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities })
  return { agent, updates, asked, closed, close: () => connection.close() }
}

export const textOf = (text: string): Array<ContentBlock> => [{ type: "text", text }]

/** Answers with the first option that allows. */
export const allowing = ({ options }: RequestPermissionRequest): RequestPermissionResponse => ({
  outcome: { outcome: "selected", optionId: options.find(({ kind }) => kind === "allow_once")?.optionId ?? "" }
})
