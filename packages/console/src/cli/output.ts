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
  /** Writes only JSON lines to standard output, one for each settled reply. */
  readonly json?: boolean | undefined
  /** Writes only JSON lines to standard output, one for each change. */
  readonly changes?: boolean | undefined
  /** Shows the model's reasoning. */
  readonly reasoning?: boolean | undefined
  /** Repaints nothing and uses no colour. */
  readonly plain?: boolean | undefined
  /** Offers to allow a permission even if the server doesn't send its input. */
  readonly allowUnseen?: boolean | undefined
}

/** How a command shows its replies, besides what the user chose. */
export interface CommandDisplay {
  /** Whether to show the prompt above the reply. */
  readonly prompt: boolean
  /** Where answers typed by a person go. Default: asks can't be answered here. */
  readonly client?: AskPort | undefined
  /** The text at the end of the status line, until `setHint` is called. Default: none. */
  readonly hint?: string | undefined
  /** Default: the command's clock. */
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
  /** Returns the observers of a reply, which show it: a sink of its own, or with `--changes` a JSON line for each change. */
  observe(reply: Reply): readonly ReplyObserver[]
  /** Whether a reply is shown that has not settled. */
  isShowing(): boolean
  /** Describes what open replies lack after an outage: nothing, or text that follows. Begins with a comma. */
  missedText(): string
  /** Writes the line of `--json`. Does nothing without that option. Call it when the reply is complete. */
  printJson(reply: Reply): void
  /** Resolves when everything that settled is written. */
  settled(): Promise<void>
  /** Stops showing the replies, and gives the terminal back. */
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
 * Creates the output of a command: a sink for each reply, or JSON lines. `options` are the user's, and `display` is the
 * command's.
 */
export function createOutput(io: ProcessIO, options: OutputOptions, display: CommandDisplay): ReplyOutput {
  const { stdin, stdout, env } = io
  const sinks = new Set<ConsoleSink>()
  const label = createLabels()
  const openReplies = new Map<string, Reply>()
  let hint = display.hint ?? ''
  const isJson = isJsonOutput(options)
  const live = isRepainted(io, options)
  const interactive = live && stdin.isTTY === true && display.client !== undefined

  /** Creates a sink for one reply. It is kept until it has written everything. */
  function addSink(): ConsoleSink {
    const sink = consoleSink({
      stdout,
      stdin,
      env,
      live,
      interactive,
      clock: display.clock ?? io.clock,
      reasoning: options.reasoning === true,
      prompt: display.prompt,
      label,
      // Without a person here, the command handles asks.
      ...(interactive && display.client !== undefined ? { client: display.client } : {}),
      allowUnseen: options.allowUnseen === true,
      hint: () => hint,
    })
    sinks.add(sink)
    // A watch may see thousands of replies, so finished ones are not kept.
    void sink.settled().then(() => sinks.delete(sink))
    return sink
  }

  /** Returns an observer that writes each change as a JSON line. */
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
      if (options.json === true) stdout.write(replyLine(reply, display.more))
    },
    async settled() {
      await Promise.all([...sinks].map((sink) => sink.settled()))
    },
    async stop() {
      await Promise.all([...sinks].map((sink) => sink.stop()))
    },
  }
}

/** Whether standard output carries JSON lines only. */
function isJsonOutput({ json, changes }: OutputOptions): boolean {
  return json === true || changes === true
}

/** Whether standard output is a terminal that is repainted. False with `--plain` and for JSON lines. */
function isRepainted({ stdout, env }: ProcessIO, options: OutputOptions): boolean {
  return !isJsonOutput(options) && options.plain !== true && isLive(stdout, env)
}

/** Returns the whole reply as a JSON line, with the fields of `more` first and its `text`, `answer` and `reasoning` last. */
function replyLine(reply: Reply, more: Readonly<Record<string, unknown>> = {}): string {
  return jsonLine({ ...more, ...reply, text: textOf(reply), answer: answerOf(reply), reasoning: reasoningOf(reply) })
}

/**
 * Returns a change as a JSON line, with its session. Kept small: without wire events, parts of messages and replies of
 * children. A text that only grew is its `delta`.
 */
function changeLine(change: Change, reply: Reply): string {
  return jsonLine({ type: change.type, sessionID: reply.sessionID, ...shortChange(change) })
}

/** Returns the value as JSON in one line, without characters that a terminal may obey. */
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

/** Returns a part without the wire event, and without its text if the change has a delta. */
function shortPart(part: Part, hasDelta: boolean): Record<string, unknown> {
  return { ...part, raw: undefined, ...(hasDelta ? { text: undefined } : {}) }
}

/** Returns a message without its parts and wire events. */
function shortMessage({ parts: _, raw: __, error, ...message }: Message): Record<string, unknown> {
  return { ...message, error: error && { ...error, raw: undefined } }
}

/** Returns a child with its session, phase and outcome instead of its reply. */
function shortChild({ reply, ...child }: Child): Record<string, unknown> {
  return { sessionID: reply.sessionID, ...child, phase: reply.phase, outcome: reply.outcome }
}
