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
  return Effect.succeed({
    endpoint,
    protocol,
    headers: Object.fromEntries(headers.map((match) => [match?.[1] ?? "", unescaped(match?.[2] ?? "")])),
    serviceName: environment["OTEL_SERVICE_NAME"] || "reins"
  })
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

const wrong = (problem: string) => Effect.fail(new ConfigInvalid({ problem }))

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return text.trim()
  }
}
