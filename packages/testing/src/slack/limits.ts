import type { Allowance } from '../platform/budget.ts'

/**
 * Slack's limits. [docs] is in its reference. [measured] was measured by others, and Slack doesn't state it. [chosen]
 * is our own number, because none is known.
 */
export const limits = {
  /** Characters of all markdown blocks of a message together, and of `markdown_text`. [docs] */
  markdown: 12_000,
  /** Characters of all blocks of a message, and what each further block adds. [measured] */
  allBlocks: 13_200,
  blockOverhead: 125,
  /** Characters of `text` in a posted message. Longer text is cut off. [docs] */
  text: 40_000,
  /** Characters of `text` when a message is updated. [docs] */
  updateText: 4000,
  /** Blocks of a message, and of a view. [docs] */
  blocks: 50,
  viewBlocks: 100,
  /** Elements of an actions block. [docs] */
  actions: 25,
  /** Characters of an app's ids for blocks and elements. [docs] */
  id: 255,
  /** Characters of a button's and an option's text. [docs] */
  label: 75,
  /** Characters of a button's value. [docs] */
  value: 2000,
  /** Options of a select, options of checkboxes and radio buttons, and characters of an option's value. [docs] */
  options: 100,
  boxes: 10,
  optionValue: 150,
  /** Characters of a section. [docs] */
  section: 3000,
  /** Fields of a section, and the characters of each. [docs] */
  fields: 10,
  field: 2000,
  /** Characters of a header. [docs] */
  header: 150,
  /** Elements of a context block. [docs] */
  context: 10,
  /** Characters of an image's address, and of its title and alternative text. [docs] */
  url: 3000,
  imageText: 2000,
  /** Characters of a modal's title, and of its buttons. [docs] */
  title: 24,
  /** Characters of a field's label. [docs] */
  fieldLabel: 2000,
  privateMetadata: 3000,
  /**
   * UTF-8 bytes of a whole stream: titles and text once, details and output twice. From 10,600 to 11,300. [measured]
   */
  streamBytes: 11_000,
  /** Sockets of an app that are connected at the same time. [docs] */
  sockets: 10,
  /** How long a stream lives, regardless of additions. [measured] */
  streamMs: 300_000,
  /** Tasks of one stream. [measured] */
  tasks: 50,
  /** How long a status shows. [docs] */
  statusMs: 120_000,
  /** How long a view can be opened after a press, and how long an app may take to acknowledge. [docs] */
  triggerMs: 3000,
  ackMs: 3000,
  /** Delays of retries for an unacknowledged event: at once, after a minute, after five. [docs] */
  retries: [0, 60_000, 300_000],
} as const satisfies Record<string, number | readonly number[]>

const tier2: Allowance = { count: 20, perMs: 60_000 }
const tier3: Allowance = { count: 50, perMs: 60_000 }
const tier4: Allowance = { count: 100, perMs: 60_000 }

/** One message per second and channel. At Slack short bursts pass [docs], but not here. */
export const posts: Allowance = { count: 1, perMs: 1000 }

/** The allowance of a method in a workspace. [docs], with one exception. */
export const tiers: Readonly<Record<string, Allowance>> = {
  'chat.update': tier3,
  'chat.delete': tier3,
  'chat.postEphemeral': tier4,
  'chat.startStream': tier2,
  'chat.appendStream': tier4,
  'chat.stopStream': tier2,
  'conversations.history': tier3,
  'conversations.replies': tier3,
  'views.open': tier4,
  'reactions.add': tier3,
  'reactions.remove': tier2,
  'files.getUploadURLExternal': tier4,
  'files.completeUploadExternal': tier4,
  'files.info': tier4,
  'assistant.threads.setStatus': { count: 600, perMs: 60_000 },
  // https://docs.rs/crate/slack-morphism/2.29.0/source/src/api/agents.rs
  'agents.sessions.setStatus': tier3,
}
