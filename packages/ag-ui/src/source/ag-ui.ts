import { ReplyError, type ReplyFailure, systemClock } from '@reply/core'
import { safeOnError, wasNeverSent } from '@reply/core/internal'
import {
  createLocalAgent,
  type LocalAnswer,
  type LocalAsk,
  type LocalRun,
  type SessionRef,
  type Source,
  type SourcePrompt,
} from '@reply/core/source'
import { type Conversation, createConversation } from './conversation.ts'
import { type AnswerForm, answerFormOf, notesOf } from './decode/answer-form.ts'
import { askMetadataOf } from './decode/ask-metadata.ts'
import { type Interrupt, toWireEvent } from './decode/event.ts'
import { hasAtMost, patched } from './decode/patch.ts'
import { type AgUiResumeEntry, questionsOf, resumeEntryOf } from './interrupt.ts'
import type { AgUiInput, AgUiOptions } from './options.ts'
import { contentOf } from './prompt.ts'
import { createRunReader, type RunReader, type StreamEnd } from './run-reader.ts'
import { createAgent } from './stream.ts'

/** What is kept of a session, which is a thread of the agent. */
interface Thread {
  readonly conversation: Conversation
  state: unknown
  /** The last run that the agent has taken. */
  runID: string | undefined
}

/** An interrupt without an answer, or with one that is held back until the others have theirs. */
interface Waiting {
  readonly interrupt: Interrupt
  readonly form: AnswerForm
  answer: LocalAnswer | undefined
  entry: AgUiResumeEntry | undefined
}

/** The run of one prompt, with as many runs of the agent as it needs. */
interface Work {
  readonly run: LocalRun
  readonly thread: Thread
  readonly reader: RunReader
  /** Ends the stream that is open. */
  abort: AbortController
  /** The interrupts that the run waits for. Empty while a stream is open. */
  waiting: readonly Waiting[]
}

/** How long a stream may stay open without another event after the end of its run, in ms. */
const lingerMs = 5000

/** How many values the state of an agent may have to be sent back. */
const maxStateValues = 1_000_000

/** How long an abort waits for the agent to take it, in ms. */
const cancelMs = 5000

/**
 * Returns a source for an agent that speaks AG-UI, at an address or in your process. A session is a thread. The agent gets the whole
 * conversation with each prompt, which is kept in memory. Its interrupts become permissions and questions, and their answers resume
 * it. It reads what real agents send, also where that differs from the protocol.
 *
 * Throws `invalid` if the url is not an http(s) address. A prompt with `agent`, `model`, `variant`, `system`, `tools` or `format`
 * fails as `unsupported`, because AG-UI has no place for them.
 */
export function agUi(options: AgUiOptions): Source {
  const { clock = systemClock, keepsThreads = false, forwardedProps = {} } = options
  const onError = safeOnError(options.onError)
  const agent = createAgent(options, clock, onError)
  const threads = new Map<string, Thread>()
  const works = new Map<LocalRun, Work>()
  /** Types of events that were reported as unknown. */
  const unknown = new Set<string>()
  const local = createLocalAgent({
    name: agent.name,
    redact: agent.redact,
    clock,
    start: agent.check,
    // Some servers only take ids of this form for their threads.
    create: ({ directory }) => ({ sessionID: crypto.randomUUID(), directory }),
    // The agent's own history can't be read, so such sessions only have the output of their runs.
    ...(keepsThreads
      ? { find: async ({ sessionID, directory }: SessionRef) => ({ sessionID, directory }) }
      : { read: async () => {} }),
    prompt: sendPrompt,
    cancel: cancelRun,
    close: () => {
      for (const { abort } of works.values()) abort.abort()
    },
  })
  // A server may be starting, so prompts wait for it.
  return { ...local.source, isLocal: options.agent !== undefined }

  function threadOf(sessionID: string): Thread {
    const thread = threads.get(sessionID) ?? { conversation: createConversation(), state: {}, runID: undefined }
    threads.set(sessionID, thread)
    return thread
  }

  async function sendPrompt(run: LocalRun, prompt: SourcePrompt): Promise<void> {
    const { sessionID, promptID } = run
    const content = await contentOf(agent.name, prompt)
    const thread = threadOf(sessionID)
    const { conversation } = thread
    conversation.dropOpenCalls()
    conversation.prompt(promptID, content)
    const text =
      typeof content === 'string' ? content : content.flatMap((part) => ('text' in part ? part.text : [])).join('\n')
    const reader = createRunReader({
      run,
      conversation,
      prompt: { id: promptID, text },
      onState: (change) => {
        if (change.type === 'state') thread.state = change.state
        else thread.state = patched(thread.state, change.patch)?.value ?? thread.state
      },
      onUnknown: reportUnknown,
    })
    const work: Work = { run, thread, reader, abort: new AbortController(), waiting: [] }
    works.set(run, work)
    try {
      await startStream(work)
    } catch (error) {
      works.delete(run)
      if (mayBeTaken(error)) return run.end({ type: 'lost', error: failureOf(error) })
      conversation.remove(promptID)
      throw error
    }
  }

  /** Starts the next run of the agent. Resolves once it has taken it, and then reads its stream. */
  async function startStream(work: Work, resume?: readonly AgUiResumeEntry[]): Promise<void> {
    work.abort = new AbortController()
    const { signal } = work.abort
    const { input, stream } = await openStream(work, resume, signal)
    work.thread.runID = input.runId
    for (const { interrupt, answer } of work.waiting)
      work.reader.answered(interrupt, answer?.type !== 'rejected' && answer?.type !== 'canceled')
    work.waiting = []
    void readStream(work, stream.events, input.runId)
  }

  async function openStream(
    { run, thread, waiting }: Work,
    resume: readonly AgUiResumeEntry[] | undefined,
    signal: AbortSignal,
  ) {
    const { conversation, state, runID } = thread
    const custom = waiting.find(({ interrupt }) => interrupt.isCustom)?.interrupt
    // Agents that sent a custom event read the answer there. One that was cancelled gets a "no".
    const command = custom && { resume: resume?.[0]?.payload ?? false, interruptEvent: custom.value }
    const input: AgUiInput = {
      threadId: run.sessionID,
      runId: crypto.randomUUID(),
      ...(runID !== undefined && { parentRunId: runID }),
      state: sendable(state),
      messages: conversation.messages(),
      tools: [],
      context: [],
      forwardedProps: command ? { ...forwardedProps, command } : forwardedProps,
      ...(resume && !command && { resume }),
    }
    return { input, stream: await agent.open(input, signal) }
  }

  /** Returns a state that can be sent. An agent can make one that is huge with a few copies. */
  function sendable(state: unknown): unknown {
    if (hasAtMost(maxStateValues, state)) return state
    onError(
      new ReplyError('too-large', `The state of ${agent.name} is too large to send it back. An empty one is sent.`),
    )
    return {}
  }

  /** Writes a stream to its run until it ends. Then ends the run, or asks its interrupts. Never rejects. */
  async function readStream(work: Work, events: AsyncIterable<unknown>, runID: string): Promise<void> {
    const { run, reader, abort } = work
    let broken: unknown
    let stopLingering = (): void => {}
    reader.begin()
    try {
      for await (const event of events) {
        if (!run.isOpen()) break
        readEvent(work, event)
        stopLingering()
        const expected = reader.expects()
        if (expected === 'nothing') break
        // Some servers leave the connection open.
        if (expected === 'end') stopLingering = clock.after(lingerMs, () => abort.abort())
      }
    } catch (error) {
      broken = error
    } finally {
      stopLingering()
    }
    if (!run.isOpen()) return void works.delete(run)
    try {
      const end = reader.end()
      if (end.type === 'interrupt') return askFor(work, end.interrupts, runID)
      works.delete(run)
      endRun(run, end, broken)
    } catch (error) {
      works.delete(run)
      work.waiting = []
      const message = `${agent.name} asks for something that can't be read (${String(error)}). Look at its log.`
      run.end({ type: 'lost', error: { name: 'malformed', message, raw: undefined } })
    }
  }

  /** Writes one event to its run. Reports one that can't be read. */
  function readEvent({ run, reader }: Work, raw: unknown): void {
    const report = (cause: unknown): void =>
      onError(new ReplyError('observer', `\`onEvent\` threw: ${String(cause)}. The stream continues.`, { cause }))
    try {
      const told: unknown = options.onEvent?.(raw, run.sessionID)
      if (told instanceof Promise) told.catch(report)
    } catch (cause) {
      report(cause)
    }
    try {
      const event = toWireEvent(raw)
      if (event) return reader.push(event)
      onError(new ReplyError('malformed', `Skipped an event of ${agent.name} that has no type.`))
    } catch (cause) {
      // An agent in the process may send values that JSON doesn't have.
      onError(new ReplyError('malformed', `Skipped an event of ${agent.name}: ${String(cause)}.`, { cause }))
    }
  }

  /** Reports a type of event that the protocol doesn't have, once. */
  function reportUnknown(name: string): void {
    // A hostile agent must not fill the memory with names.
    if (unknown.has(name) || unknown.size >= 100) return
    unknown.add(name)
    const shown = JSON.stringify(name.slice(0, 80))
    onError(new ReplyError('malformed', `Skipped an event of ${agent.name} of the unknown type ${shown}.`))
  }

  function endRun(run: LocalRun, end: Exclude<StreamEnd, { readonly type: 'interrupt' }>, broken: unknown): void {
    switch (end.type) {
      case 'success':
        return run.end({ type: 'completed' })
      case 'cancelled':
        return run.end({ type: 'aborted' })
      case 'failed': {
        const { code = 'RunError', message } = end
        if (/^(aborted|cancell?ed)$/i.test(code)) return run.end({ type: 'aborted' })
        const error: ReplyFailure = { name: code, message, raw: undefined }
        return run.end({ type: code === 'lost' ? 'lost' : 'failed', error })
      }
      case 'cut': {
        const message =
          broken instanceof Error
            ? broken.message
            : `${agent.name} ended the stream before the run's end. Look at its log.`
        return run.end({ type: 'lost', error: { name: 'unreachable', message, raw: undefined } })
      }
      default:
        return end satisfies never
    }
  }

  /** Asks a person for each interrupt. The agent goes on once all are answered, because it takes their answers together. */
  function askFor(work: Work, interrupts: readonly Interrupt[], runID: string): void {
    const first = new Map(interrupts.map((interrupt) => [interrupt.id, interrupt]))
    work.waiting = [...first.values()].map((interrupt) => {
      return { interrupt, form: answerFormOf(interrupt), answer: undefined, entry: undefined }
    })
    for (const waiting of work.waiting) {
      const reply = async (answer: LocalAnswer): Promise<void> => await takeAnswer(work, waiting, answer)
      work.reader
        .runOf(waiting.interrupt)
        .ask({ requestID: `${runID}:${waiting.interrupt.id}`, reply, ...askOf(work, waiting) })
    }
  }

  async function takeAnswer(work: Work, waiting: Waiting, answer: LocalAnswer): Promise<void> {
    // An abort tells the agent about all of them at once.
    if (answer.type === 'canceled') return
    waiting.entry = resumeEntryOf(waiting.interrupt, waiting.form, answer)
    waiting.answer = answer
    const entries = work.waiting.flatMap(({ entry }) => entry ?? [])
    if (entries.length < work.waiting.length) return
    try {
      await startStream(work, entries)
    } catch (error) {
      // Stopped meanwhile.
      if (!works.has(work.run)) return
      if (mayBeTaken(error)) {
        works.delete(work.run)
        return work.run.end({ type: 'lost', error: failureOf(error) })
      }
      waiting.entry = undefined
      throw error
    }
  }

  /** Ends a run: its stream, or its pending asks. */
  async function cancelRun(run: LocalRun): Promise<void> {
    const work = works.get(run)
    if (!work)
      throw new ReplyError(
        'unsupported',
        `${agent.name} can't stop a single sub-agent. Stop the session that began it.`,
      )
    work.abort.abort()
    works.delete(run)
    if (work.waiting.length > 0) await cancelInterrupts(work)
    run.end({ type: 'aborted' })
  }

  /** Tells the agent that no answer will come. Otherwise it would ask the same again with the next prompt. */
  async function cancelInterrupts(work: Work): Promise<void> {
    const abort = new AbortController()
    const stop = clock.after(cancelMs, () => abort.abort())
    const resume = work.waiting.map(({ interrupt: { id } }) => ({ interruptId: id, status: 'cancelled' }) as const)
    try {
      const { input, stream } = await openStream(work, resume, abort.signal)
      work.thread.runID = input.runId
      // What it does first shows that it has taken the answer. It may end before that.
      for await (const _ of stream.events) break
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      onError(new ReplyError('not-stopped', `${agent.name} was not told that its run was stopped: ${reason}`))
    } finally {
      stop()
      abort.abort()
    }
  }

  /** Returns an interrupt as an ask: a permission if it asks to approve an action, and otherwise a question. */
  function askOf({ reader }: Work, { interrupt, form }: Waiting): AskContent {
    const { title, questions, always, metadata } = askMetadataOf(interrupt)
    if (form.type !== 'approval') {
      const callID = reader.knownCall(interrupt)
      const asked = questions?.length === form.fields.length ? questions : questionsOf(interrupt, form.fields)
      return { type: 'question', callID, questions: asked }
    }
    // Without a call, no chat offers to allow it.
    const { callID, tool } = (form.once !== undefined && reader.callOf(interrupt)) || unknownCall
    const shownTitle = title ?? firstLine(interrupt.message) ?? tool
    const notes = notesOf(interrupt.schema)
    const isWhole = title !== undefined || interrupt.message === undefined || interrupt.message.trim() === shownTitle
    return {
      type: 'permission',
      callID,
      permission: tool,
      patterns: [],
      always: form.always ? (always ?? [form.always.label]) : [],
      title: shownTitle,
      // People decide about the whole message, so the lines that don't fit into the title are shown, too.
      metadata: {
        ...(!isWhole && { message: interrupt.message }),
        ...(notes.length > 0 && { notes }),
        ...metadata,
      },
    }
  }
}

/** Whether the agent may have taken a run although its start failed. Its output can't be had then. */
function mayBeTaken(error: unknown): error is ReplyError {
  return error instanceof ReplyError && error.type === 'unreachable' && !wasNeverSent(error)
}

function failureOf({ type, message }: ReplyError): ReplyFailure {
  return { name: type, message, raw: undefined }
}

/** What an ask says, without its id and the function for its answer. */
type AskContent = LocalAsk extends infer A ? (A extends LocalAsk ? Omit<A, 'requestID' | 'reply'> : never) : never

const unknownCall = { callID: undefined, tool: 'unknown' }

function firstLine(text: string | undefined): string | undefined {
  return text
    ?.split('\n')
    .find((line) => line.trim() !== '')
    ?.trim()
}
