/** A column of the rows of a statement. */
export interface PgColumn {
  readonly name: string
  readonly read: (text: string) => unknown
}
export type PgColumns = ReadonlyArray<PgColumn>
