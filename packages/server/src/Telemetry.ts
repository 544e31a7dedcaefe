import { AgentTraces } from "@reins/base/base/AgentTraces"
import { Effect, Layer } from "effect"
import { ConfigInvalid } from "./Config.js"
import type { OtlpSettings } from "./OtlpSettings.js"

/**
 * The settings in an environment; undefined without `OTEL_EXPORTER_OTLP_ENDPOINT`, or with `OTEL_SDK_DISABLED=true`. The service is called `reins` unless
 * `OTEL_SERVICE_NAME` says otherwise. Fails for what cannot be done, and quotes no value, because headers hold secrets.
 */
export const otlpOf = (environment: NodeJS.ProcessEnv): Effect.Effect<OtlpSettings | undefined, ConfigInvalid> => {
  const endpoint = environment["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? ""
  if (endpoint === "" || environment["OTEL_SDK_DISABLED"] === "true") return Effect.succeed(undefined)
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    return wrong("OTEL_EXPORTER_OTLP_ENDPOINT has to be an http or https URL, as in http://127.0.0.1:4318.")
  }
  const protocol = environment["OTEL_EXPORTER_OTLP_PROTOCOL"] || "http/protobuf"
  if (protocol !== "http/json" && protocol !== "http/protobuf") {
    return wrong("OTEL_EXPORTER_OTLP_PROTOCOL has to be http/protobuf or http/json; there is no gRPC.")
  }
  const pairs = (environment["OTEL_EXPORTER_OTLP_HEADERS"] ?? "").split(",").filter((pair) => pair.trim() !== "")
  const headers = pairs.map((pair) => /^\s*([\w-]+)\s*=(.*)$/.exec(pair))
  if (headers.includes(null)) return wrong("OTEL_EXPORTER_OTLP_HEADERS has to be a list as in name=value,other=value.")
  return Effect.map(genAiOf(environment), (genAi) => ({
    endpoint,
    protocol,
    headers: Object.fromEntries(headers.map((match) => [match?.[1] ?? "", unescaped(match?.[2] ?? "")])),
    serviceName: environment["OTEL_SERVICE_NAME"] || "reins",
    ...(genAi && { genAi })
  }))
}

/** The word that asks for spans and figures of agents. The conventions are not stable, so nobody gets them unasked. */
const optIn = "gen_ai_latest_experimental"

const contentVariable = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

/** The values for content. `true` and `false` are those of the first instrumentations. */
const contentWords: Readonly<Record<string, boolean>> = {
  "": false,
  no_content: false,
  false: false,
  span_only: true,
  true: true
}

/** Words of the list for other conventions mean nothing here. */
const genAiOf = (environment: NodeJS.ProcessEnv): Effect.Effect<OtlpSettings["genAi"], ConfigInvalid> => {
  const asked = (environment["OTEL_SEMCONV_STABILITY_OPT_IN"] ?? "").split(",").map((word) => word.trim())
  if (!asked.includes(optIn)) return Effect.succeed(undefined)
  const content = contentWords[(environment[contentVariable] ?? "").trim().toLowerCase()]
  return content === undefined
    ? wrong(`${contentVariable} has to be NO_CONTENT or SPAN_ONLY; content is not sent as events.`)
    : Effect.succeed({ content })
}

/** Sends traces, figures and logs while the layer lives, and what is left when it ends. Nothing of it is loaded without settings. */
export const layer = (settings: OtlpSettings | undefined): Layer.Layer<never> =>
  settings === undefined
    ? Layer.empty
    : Layer.unwrapEffect(
        Effect.map(
          Effect.promise(() => import("./OtlpExport.js")),
          ({ layer }) => layer(settings)
        )
      )

/** The traces of agents. Nothing of them is loaded unless the settings ask for them. */
export const agentTraces = (settings: OtlpSettings | undefined): Layer.Layer<AgentTraces> => {
  const genAi = settings?.genAi
  return genAi === undefined
    ? Layer.succeed(AgentTraces, undefined)
    : Layer.unwrapEffect(
        Effect.map(
          Effect.promise(() => import("./genai/GenAiTraces.js")),
          ({ layer }) => layer(genAi)
        )
      )
}

const wrong = (problem: string) => Effect.fail(new ConfigInvalid({ problem }))

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return text.trim()
  }
}
