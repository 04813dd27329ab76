import {
  answerOf,
  type Change,
  type Child,
  type Clock,
  type Message,
  type Part,
  type Reply,
  type ReplyObserver,
  reasoningOf,
  textOf,
} from '@reply/core'
import type { AskPort } from '../asks/asking.ts'
import { createLabels } from '../format/reply-label.ts'
import { cleanJson, cleanLine } from '../format/sanitize.ts'
import { line, wrap } from '../format/styled-line.ts'
import { observeAll } from '../observe-all.ts'
import { type ConsoleSink, consoleSink } from '../sink.ts'
import { isLive, surfaceOf } from '../terminal/surface.ts'
import { hasHole, NOTHING_MISSED, TEXT_FOLLOWS } from '../view/delays.ts'
import type { ProcessIO } from './process-io.ts'

/** Options of every command that shows replies. */
export interface OutputOptions {
  readonly json?: boolean | undefined
  readonly changes?: boolean | undefined
  readonly reasoning?: boolean | undefined
  readonly plain?: boolean | undefined
  /** Offers to allow a permission even if the server doesn't send its input. */
  readonly allowUnseen?: boolean | undefined
}

export interface ShowOptions {
  /** Show the prompt above the reply. */
  readonly prompt: boolean
  readonly client?: AskPort | undefined
  readonly hint?: string | undefined
  readonly clock?: Clock | undefined
  /** Fields that each line of `--json` begins with. */
  readonly more?: Readonly<Record<string, unknown>> | undefined
}

/** Where replies go: an interactive terminal view, plain text, or JSON lines. */
export interface ReplyOutput {
  /** Whether standard output carries JSON lines only. */
  readonly isJson: boolean
  /** Whether a person can answer here. */
  readonly interactive: boolean
  /** Sets the text at the end of the status line. */
  setHint(text: string): void
  /** Shows a note beside the replies, or on standard error if standard output carries JSON. */
  note(text: string): void
  observe(reply: Reply): readonly ReplyObserver[]
  /** Whether a reply is shown that has not settled. */
  isShowing(): boolean
  /** Describes the text that open replies lack after an outage. */
  missedText(): string
  /** Writes the line of `--json`. Called when the reply is complete. */
  printJson(reply: Reply): void
  /** Resolves when everything that settled is written. */
  settled(): Promise<void>
  stop(): Promise<void>
}

/** Returns a function that shows notes above the tails of replies, or on standard error if standard output carries JSON. */
export function noteWriter(io: ProcessIO, options: OutputOptions): (text: string) => void {
  const { stdout, stderr, env } = io
  const surface = surfaceOf(isJsonOutput(options) ? stderr : stdout, { live: isRepainted(io, options), env })
  return (text) => {
    const indent = line(/^ */.exec(text)?.[0] ?? '')
    surface.note(wrap(line(cleanLine(text), 'dim'), surface.size().columns - 1, indent))
  }
}

/**
 * Creates the output of a command: a sink for each reply, or JSON lines. `options` are the user's, and `show` the command's.
 */
export function createOutput(io: ProcessIO, options: OutputOptions, show: ShowOptions): ReplyOutput {
  const { stdin, stdout, env } = io
  const sinks = new Set<ConsoleSink>()
  const label = createLabels()
  const openReplies = new Map<string, Reply>()
  let hint = show.hint ?? ''
  const isJson = isJsonOutput(options)
  const live = isRepainted(io, options)
  const interactive = live && stdin.isTTY === true && show.client !== undefined

  /** Creates a sink for one reply. It is kept until it has written everything. */
  function addSink(): ConsoleSink {
    const sink = consoleSink({
      stdout,
      stdin,
      env,
      live,
      interactive,
      clock: show.clock ?? io.clock,
      reasoning: options.reasoning === true,
      prompt: show.prompt,
      label,
      // Without a person here, the command handles asks.
      ...(interactive && show.client !== undefined ? { client: show.client } : {}),
      allowUnseen: options.allowUnseen === true,
      hint: () => hint,
    })
    sinks.add(sink)
    // A watch may see thousands of replies, so finished ones are not kept.
    void sink.settled().then(() => sinks.delete(sink))
    return sink
  }

  function changeLineWriter(): ReplyObserver {
    return observeAll(({ reply, ...change }) => void stdout.write(changeLine(change, reply)))
  }

  const trackOpen: ReplyObserver = observeAll(({ reply }) => {
    if (reply.phase === 'settled') openReplies.delete(reply.sessionID)
    else openReplies.set(reply.sessionID, reply)
  })

  return {
    isJson,
    interactive,
    setHint(text) {
      hint = text
    },
    note: noteWriter(io, options),
    observe: () => [trackOpen, ...(isJson ? (options.changes === true ? [changeLineWriter()] : []) : [addSink()])],
    isShowing: () => sinks.size > 0,
    missedText: () => ([...openReplies.values()].some(hasHole) ? TEXT_FOLLOWS : NOTHING_MISSED),
    printJson(reply) {
      if (options.json === true) stdout.write(replyLine(reply, show.more))
    },
    async settled() {
      await Promise.all([...sinks].map((sink) => sink.settled()))
    },
    async stop() {
      await Promise.all([...sinks].map((sink) => sink.stop()))
    },
  }
}

function isJsonOutput({ json, changes }: OutputOptions): boolean {
  return json === true || changes === true
}

function isRepainted({ stdout, env }: ProcessIO, options: OutputOptions): boolean {
  return !isJsonOutput(options) && options.plain !== true && isLive(stdout, env)
}

/** One line: the whole reply as JSON, with the fields of `more` first and its `text`, `answer` and `reasoning` last. */
function replyLine(reply: Reply, more: Readonly<Record<string, unknown>> = {}): string {
  return jsonLine({ ...more, ...reply, text: textOf(reply), answer: answerOf(reply), reasoning: reasoningOf(reply) })
}

/**
 * One line per change, with its session. Kept small: without wire events, parts of messages and replies of children.
 * A text that only grew is its `delta`.
 */
function changeLine(change: Change, reply: Reply): string {
  return jsonLine({ type: change.type, sessionID: reply.sessionID, ...shortChange(change) })
}

function jsonLine(value: unknown): string {
  return `${cleanJson(JSON.stringify(value))}\n`
}

/**
 * Returns a change for JSON, without the reply, wire events, texts that only grew, parts of messages and replies of
 * children.
 */
function shortChange(change: Change): Record<string, unknown> {
  // Observers get changes together with the reply. Neither the reply nor the wire event belongs in the line.
  const own: Record<string, unknown> = { ...change, reply: undefined, raw: undefined }
  if ('part' in change) own.part = shortPart(change.part, change.type === 'partChanged' && change.delta !== undefined)
  if ('message' in change && typeof change.message === 'object') own.message = shortMessage(change.message)
  if ('error' in change) own.error = { ...change.error, raw: undefined }
  if ('child' in change) own.child = shortChild(change.child)
  if (change.type === 'childChanged') own.change = shortChange(change.change)
  return own
}

/** Without the wire event, and without a text that the change has as a delta. */
function shortPart(part: Part, hasDelta: boolean): Record<string, unknown> {
  return { ...part, raw: undefined, ...(hasDelta ? { text: undefined } : {}) }
}

/** Without the parts and the wire events. */
function shortMessage({ parts: _, raw: __, error, ...message }: Message): Record<string, unknown> {
  return { ...message, error: error && { ...error, raw: undefined } }
}

/** With the session, phase and outcome instead of the reply. */
function shortChild({ reply, ...child }: Child): Record<string, unknown> {
  return { sessionID: reply.sessionID, ...child, phase: reply.phase, outcome: reply.outcome }
}
