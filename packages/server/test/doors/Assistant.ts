import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { published } from "@reins/testing/process/ServerProcess"
import { assert } from "vitest"

export type Era = "2025" | "2026"

export interface AssistantOptions {
  readonly era: Era
  /** Answers a question for the person. A program without it cannot show any. */
  readonly person?: (message: string) => string | undefined
}

export interface Assistant {
  readonly client: Client
  /** Calls a tool, and gives its fields. */
  readonly call: (name: string, input?: Record<string, unknown>) => Promise<Record<string, any>>
  /** Calls a tool that refuses, and gives its words. */
  readonly refused: (name: string, input?: Record<string, unknown>) => Promise<string>
  /** The progress that calls have told. */
  readonly progress: Array<string>
}

const open = new Set<Client>()

/** An assistant on the protocol's own package. */
export const openAssistant = async (transport: Transport, { era, person }: AssistantOptions): Promise<Assistant> => {
  const client = new Client(
    { name: "test", version: "1" },
    {
      capabilities: person === undefined ? {} : { elicitation: { form: {} } },
      ...(era === "2026" && { versionNegotiation: { mode: { pin: "2026-07-28" } } })
    }
  )
  if (person !== undefined)
    client.setRequestHandler("elicitation/create", ({ params }) => {
      const choice = person(params.message)
      return choice === undefined ? { action: "decline" } : { action: "accept", content: { choice } }
    })
  await client.connect(transport)
  open.add(client)
  const progress: Array<string> = []
  const send = (name: string, input: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: input }, { onprogress: ({ message = "" }) => progress.push(message) })
  return {
    client,
    progress,
    call: async (name, input) => {
      const { content, isError, structuredContent } = await send(name, input)
      assert.isNotTrue(isError, JSON.stringify(content))
      return structuredContent as Record<string, any>
    },
    refused: async (name, input) => {
      const { content, isError } = await send(name, input)
      assert.isTrue(isError, JSON.stringify(content))
      return JSON.stringify(content)
    }
  }
}

export const overHttp = (url: string, apiKey: string, query = ""): Transport =>
  new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), {
    requestInit: { headers: { authorization: `Bearer ${apiKey}` } }
  })

export const overStdio = (
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
  args: ReadonlyArray<string> = []
): Transport =>
  new StdioClientTransport({
    command: process.execPath,
    args: [published, "mcp", ...args],
    cwd,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stderr: "ignore"
  })

export const endAssistants = async (): Promise<void> => {
  await Promise.all([...open].map((client) => client.close()))
  open.clear()
}
