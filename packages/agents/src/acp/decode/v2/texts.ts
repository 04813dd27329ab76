import type { LocalOutput } from '@reply/core/source'
import { fileOf, textIn } from '../call.ts'

/**
 * The parts that the texts of messages became. Chunks of a message append to its newest part, unless something else came in
 * between.
 */
export interface Texts {
  /** The ids of the parts, by kind and message. */
  readonly parts: Readonly<Record<string, readonly string[]>>
  /** The part that the next chunk may append to. */
  readonly open?: string | undefined
}

type Kind = 'text' | 'reasoning'

interface Content {
  readonly type: string
}

/** The outputs of one piece of a message, and the parts after it. */
export interface WrittenText {
  readonly outputs: readonly LocalOutput[]
  readonly texts: Texts
}

/**
 * Returns the outputs that append a piece to a message, and the texts after it: to its open part, else as a new one. A
 * file becomes a part of its own, unless it is part of a thought. Other contents change nothing.
 */
export function appended(texts: Texts, kind: Kind, messageID: string, content: Content): WrittenText {
  const delta = textIn(content)
  if (delta === undefined) {
    const file = kind === 'text' ? fileOf(content) : undefined
    const outputs: readonly LocalOutput[] = file ? [{ type: 'file', ...file, messageID, raw: content }] : []
    return { outputs, texts: file ? withoutOpenText(texts) : texts }
  }
  const key = `${kind} ${messageID}`
  const known = texts.parts[key] ?? []
  const newest = known.at(-1)
  const isOpen = newest !== undefined && newest === texts.open
  const partID = isOpen ? newest : `${key} ${known.length + 1}`
  const output = { type: kind, delta, messageID, partID, raw: content } as const
  if (isOpen) return { outputs: [output], texts }
  return { outputs: [output], texts: { parts: { ...texts.parts, [key]: [...known, partID] }, open: partID } }
}

/**
 * Returns the outputs that replace the whole text of a message, in its first part, and remove its other parts, and the
 * texts after it. An empty list of contents, or one
 * without texts, removes all of them. A message without parts gets one.
 */
export function replaced(texts: Texts, kind: Kind, messageID: string, contents: readonly Content[]): WrittenText {
  const key = `${kind} ${messageID}`
  const known = texts.parts[key] ?? []
  const text = contents.map((content) => textIn(content) ?? '').join('')
  const first = text === '' ? undefined : known[0]
  const removed = known.filter((partID) => partID !== first)
  const outputs = removed.map((partID) => ({ type: kind, replace: '', messageID, partID }) as const)
  const left: Texts = { parts: { ...texts.parts, [key]: first === undefined ? [] : [first] } }
  if (text === '') return { outputs, texts: left }
  if (first !== undefined)
    return { outputs: [...outputs, { type: kind, replace: text, messageID, partID: first }], texts: left }
  const whole = { type: 'text', text } as const
  const written = appended(left, kind, messageID, whole)
  return { outputs: [...outputs, ...written.outputs], texts: written.texts }
}

/** Returns the parts after an output that is not a text: the next chunk begins a part. */
export function withoutOpenText({ parts }: Texts): Texts {
  return { parts }
}
