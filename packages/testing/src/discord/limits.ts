import type { Allowance } from '../platform/budget.ts'

/**
 * Discord's limits. [docs] is documented. [observed] was seen in response headers, and Discord doesn't promise it.
 * [chosen] is our own number, because none is known.
 */
export const limits = {
  /** UTF-16 units of a message. [docs] */
  content: 2000,
  /** Rows below a message, and buttons in one. [docs] */
  rows: 5,
  buttons: 5,
  /** UTF-16 units of a button's label. [docs] */
  label: 80,
  /** UTF-16 units of a component's custom id. [docs] */
  customId: 100,
  /** Options of a select, and UTF-16 units of a label, value or description. [docs] */
  options: 25,
  option: 100,
  placeholder: 150,
  /** Components of a modal, and UTF-16 units of its title. [docs] */
  fields: 5,
  title: 45,
  /** UTF-16 units of a field's label, its description, a text field's placeholder, and its value. [docs] */
  fieldLabel: 45,
  fieldDescription: 100,
  fieldPlaceholder: 100,
  field: 4000,
  /** UTF-16 units. [docs] */
  nonce: 25,
  threadName: 100,
  /** Files of a message, and bytes of one. [docs] */
  files: 10,
  file: 10 * 1024 * 1024,
  /** Calls of all kinds except answers to interactions. [docs] */
  global: { count: 50, perMs: 1000 },
  /** How long a nonce is remembered: "the past few minutes" [docs], [chosen]. */
  nonceMs: 5 * 60_000,
  /** Embeds of a message, the characters of all their texts, and of each. [docs] */
  embeds: 10,
  embedTexts: 6000,
  embedTitle: 256,
  embedDescription: 4096,
  embedFields: 25,
  fieldName: 256,
  fieldValue: 1024,
  footer: 2048,
  author: 256,
  /** Characters of a link's address. [docs] */
  url: 512,
  /** How old a message may be for unlimited edits. [docs] */
  editMs: 60 * 60_000,
  /** Edits of older messages in a channel. [chosen]: there is a limit [docs], but its number isn't documented. */
  lateEdits: { count: 10, perMs: 60 * 60_000 },
  /** How long "typing" shows. [docs] */
  typingMs: 10_000,
  /** Time limits for the first answer to an interaction, and for further ones. [docs] */
  firstMs: 3000,
  tokenMs: 15 * 60_000,
} as const satisfies Record<string, number | Allowance>

/** The allowance of each kind of call in one channel. [observed] */
export const buckets = {
  post: { count: 5, perMs: 5000 },
  edit: { count: 5, perMs: 5000 },
  remove: { count: 5, perMs: 1000 },
  typing: { count: 5, perMs: 5000 },
  react: { count: 1, perMs: 250 },
  thread: { count: 50, perMs: 300_000 },
  followUp: { count: 5, perMs: 2000 },
} as const satisfies Record<string, Allowance>

/** A kind of call with an allowance of its own. */
export type DiscordBucket = keyof typeof buckets
