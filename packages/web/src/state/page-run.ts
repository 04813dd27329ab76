import type { Reply } from '@reply/core'

/**
 * What a page knows of a run. Plain JSON without `undefined`. A newer state shares the objects that did not change with the
 * state before, which is what makes `differenceOf` cheap.
 */
export interface PageRun {
  /** The reply without its `raw` fields, which are for programs. */
  readonly reply: PageReply
  /** Who answered, by the id of the ask. Empty if no one did, or it is not known. */
  readonly answers: Readonly<Record<string, PageAnswer>>
}

/** A reply without the `raw` of its messages, parts, asks and failures. */
export type PageReply = WithoutRaw<Reply>

/** Who answered an ask. */
export interface PageAnswer {
  /** The person's name, as people see it. */
  readonly by: string
}

type WithoutRaw<T> = T extends readonly (infer Item)[]
  ? readonly WithoutRaw<Item>[]
  : T extends object
    ? FieldsWithoutRaw<Omit<T, 'raw'>>
    : T

type FieldsWithoutRaw<T> = { readonly [Key in keyof T]: WithoutRaw<T[Key]> }
