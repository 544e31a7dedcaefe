import type { Statement } from "@effect/sql"

/** A statement that an engine runs. Its text was made at the call, or once. */
export type Query<Row extends object> = Statement.Statement<Row> | PreparedQuery<Row>

/** A statement whose text was made once. Engines store what they prepared for it by the identity of this object. */
export interface PreparedText {
  /** SQL with the placeholders of its dialect in the place of values. */
  readonly text: string
  /** True for a statement that changes nothing. */
  readonly isRead: boolean
}

/** A prepared statement with the values of one call. */
export class PreparedQuery<Row extends object> {
  declare readonly Row: Row
  constructor(
    /** The text, which is the same object at each call. */
    readonly prepared: PreparedText,
    /** The values of the placeholders, in their order. */
    readonly parameters: ReadonlyArray<unknown>
  ) {}
}

/** A placeholder for a value while the text of a statement is made. */
class Hole {
  constructor(readonly key: number | string) {}
}

/**
 * Makes the text of a statement once. Its arguments have to be values, no fragments and no lists, because they are bound at each call. The
 * answer of a read that has at most one small row may be kept until the database changes, and nobody can change it.
 */
export const prepare = <Args extends ReadonlyArray<unknown>, Row extends object>(
  build: (...args: Args) => Statement.Statement<Row>
): ((...args: Args) => PreparedQuery<Row>) => {
  const holes = Array.from({ length: build.length }, (_, index) => new Hole(index))
  // Boundary: the holes stand in for values of any type.
  const bind = binderOf(build(...(holes as unknown as Args)))
  return (...args) => bind((index) => args[Number(index)])
}

/**
 * `prepare` for a statement that takes one row, such as an insert. Its text is made once for each list of columns, which are the keys of
 * the row in their order.
 */
export const prepareRow = <Row extends object>(
  build: (row: Readonly<Record<string, unknown>>) => Statement.Statement<Row>
): ((row: Readonly<Record<string, unknown>>) => PreparedQuery<Row>) => {
  // Rows of one statement have few lists of columns, and most often one.
  const made: Array<{ readonly columns: ReadonlyArray<string>; readonly bind: Bind<Row> }> = []
  return (row) => {
    const columns = Object.keys(row)
    let known = made.find((each) => areEqual(each.columns, columns))
    if (known === undefined) {
      known = { columns, bind: binderOf(build(Object.fromEntries(columns.map((name) => [name, new Hole(name)])))) }
      made.push(known)
    }
    return known.bind((column) => row[column])
  }
}

/** `prepare` for a statement of many arguments, which are given by name. */
export const prepareNamed = <Args extends Readonly<Record<string, unknown>>, Row extends object>(
  build: (args: Args) => Statement.Statement<Row>
): ((args: Args) => PreparedQuery<Row>) => {
  // Boundary: the holes stand in for values of any type.
  const holes = new Proxy({}, { get: (_, name) => new Hole(String(name)) }) as Args
  const bind = binderOf(build(holes))
  return (args) => bind((name) => args[name])
}

const areEqual = (some: ReadonlyArray<string>, others: ReadonlyArray<string>): boolean =>
  some.length === others.length && some.every((name, index) => name === others[index])

type Bind<Row extends object> = (valueOf: (key: number | string) => unknown) => PreparedQuery<Row>

const binderOf = <Row extends object>(statement: Statement.Statement<Row>): Bind<Row> => {
  const [text, parameters] = statement.compile()
  const prepared: PreparedText = { text, isRead: isRead(text) }
  const places: ReadonlyArray<unknown> = parameters
  return (valueOf) =>
    new PreparedQuery(
      prepared,
      places.map((place) => (place instanceof Hole ? valueOf(place.key) : place))
    )
}

/** True for the text of a statement that changes nothing. */
export const isRead = (text: string): boolean => /^\s*select\b/i.test(text)
