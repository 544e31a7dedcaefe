import { Metric, MetricBoundaries, MetricKey, MetricLabel } from "effect"
import { genAiNames, otherName } from "./GenAiNames.js"

/** The upper bounds that the conventions give. */
export const tokenBounds = Array.from({ length: 14 }, (_, power) => 4 ** power)
export const secondBounds = Array.from({ length: 14 }, (_, power) => 2 ** power / 100)

/** The label that says the unit of a figure. What sends the figures takes it from there, and leaves it out of their attributes. */
export const unitLabel = "unit"

const tokenUsage = MetricKey.histogram(
  "gen_ai.client.token.usage",
  MetricBoundaries.fromIterable(tokenBounds),
  "Number of input and output tokens used."
)
const operationDuration = MetricKey.histogram(
  "gen_ai.client.operation.duration",
  MetricBoundaries.fromIterable(secondBounds),
  "GenAI operation duration."
)

/** The most models that a figure tells apart. Agents choose their names, and each is a row of its own wherever figures are kept. */
const mostModels = 100

/** The labels of an operation. What is not known is left out. */
export interface OperationLabels {
  readonly operation: string
  readonly provider: string | undefined
  readonly requestModel: string | undefined
  readonly responseModel: string | undefined
}

/** The figures of operations. */
export class GenAiFigures {
  private readonly models = new Set<string>()

  tokens(of: OperationLabels, type: "input" | "output", count: number | null | undefined): void {
    if (count == null) return
    const key = MetricKey.taggedWithLabels(
      tokenUsage,
      this.labels(of, { [genAiNames.tokenType]: type, [unitLabel]: "{token}" })
    )
    Metric.fromMetricKey(key as typeof tokenUsage).unsafeUpdate(count, [])
  }

  duration(of: OperationLabels, ms: number, error: string | undefined): void {
    const key = MetricKey.taggedWithLabels(
      operationDuration,
      this.labels(of, { [genAiNames.error]: error, [unitLabel]: "s" })
    )
    Metric.fromMetricKey(key as typeof operationDuration).unsafeUpdate(Math.max(0, ms) / 1000, [])
  }

  private labels(of: OperationLabels, more: Readonly<Record<string, string | undefined>>) {
    const labels = {
      [genAiNames.operation]: of.operation,
      [genAiNames.provider]: of.provider,
      [genAiNames.requestModel]: this.modelOf(of.requestModel),
      [genAiNames.responseModel]: this.modelOf(of.responseModel),
      ...more
    }
    return Object.entries(labels).flatMap(([name, value]) =>
      value === undefined ? [] : [MetricLabel.make(name, value)]
    )
  }

  private modelOf(model: string | undefined): string | undefined {
    if (model === undefined || this.models.has(model)) return model
    if (this.models.size >= mostModels) return otherName
    this.models.add(model)
    return model
  }
}
