import type { Ask, PermissionReply } from '../../ask.ts'
import { ReplyError } from '../../error.ts'
import type { AskClosedEvent, ReplyEvent } from '../../event.ts'
import type { SessionRef } from '../../session-ref.ts'
import { sentenceOf } from '../../text/sentence.ts'
import { dataSize } from '../decode/attachment.ts'
import type { InputPart } from '../input.ts'
import { createMessages, endOfLastMessage, type RunStamp } from './messages.ts'
import type { LocalAnswer, LocalAsk, LocalEnding, LocalOutput } from './output.ts'

/**
 * One run of a session, started by a prompt, as a sub-agent, or by the agent itself (`LocalAgent.wake`). Calls after its
 * end do nothing.
 */
export interface LocalRun extends SessionRef {
  /** The id of the user message that the run answers. After a wake it is the message that tells the reason. */
  readonly promptID: string
  /** Whether it has not ended. */
  isOpen(): boolean
  /**
   * Emits the agent's output, in order. The first call also emits the prompt's message before it. For example
   * `run.write({ type: 'text', delta: 'Hello' })`.
   */
  write(...outputs: readonly LocalOutput[]): void
  /**
   * Asks a person. The reply is blocked until the ask is answered or closed. Begins the run if it hasn't begun. After the run
   * was aborted, only answers the ask with `canceled`. An ask that is pending already stays as it is, with the new `reply`.
   */
  ask(request: LocalAsk): void
  /** Closes an ask that the agent withdrew. Its `reply` is not called. Does nothing for an ask that isn't pending. */
  closeAsk(requestID: string): void
  /**
   * Begins a sub-agent in its own session. To show it below the call that started it, give that call's `tool` output
   * the name `task` and the session's id in `state.metadata.sessionId`. For a background sub-agent add
   * `background: true` there.
   */
  child(start: LocalChildStart): LocalRun
  /**
   * Ends the run, after its open asks and its sub-agents, except those in the background. A run without output then has its
   * prompt and an empty answer.
   */
  end(ending: LocalEnding): void
}

/** Describes a new sub-agent. */
export interface LocalChildStart {
  /** The id of its session. Default: a new id. */
  readonly sessionID?: string | undefined
  /** A short description of its task. */
  readonly title?: string | undefined
  /** The text of its prompt. Default: none. */
  readonly text?: string | undefined
  /**
   * Whether it may go on after the run that started it. You then end it yourself, with `end`. Its asks are shown as long
   * as it runs, and aborting the session cancels it. Default: false.
   */
  readonly background?: boolean | undefined
}

interface PendingAsk {
  readonly request: LocalAsk
  readonly shown: Ask
}

/** What a run needs of its session and its source. */
interface RunSetup extends RunStamp {
  readonly isBackground: boolean
  /** Removes secrets from the messages of failures and retries. */
  readonly redact: (text: string) => string
  readonly emit: (events: readonly ReplyEvent[]) => void
  /** Creates the sub-agent's session and its run, and begins the run. */
  readonly startChild: (start: LocalChildStart) => OwnedRun
  /** Called once, before the run's last events are emitted. Returns whether another run of the session goes on. */
  readonly onEnd: () => boolean
}

/** A run with the calls that only the source makes. */
export interface OwnedRun extends LocalRun {
  /** Whether it is a sub-agent that may outlive the run that began it. */
  readonly isBackground: boolean
  /** Whether its prompt's message was emitted. */
  hasBegun(): boolean
  /** Emits the prompt's message and `busy`, once. The first output does that too. */
  begin(): void
  /** Returns the text of the prompt without the white space around it. Empty without one. */
  promptText(): string
  /** Sets the parts of the prompt's message. Call it before the run begins. */
  setPrompt(parts: readonly InputPart[]): void
  /** The pending asks. */
  asks(): readonly Ask[]
  /** Sends the answer to the agent and emits that the ask is closed. Rejects with `gone` if no ask with this id is pending. */
  answer(requestID: string, answer: LocalAnswer): Promise<void>
  /**
   * Answers all pending asks of the run and its sub-agents with `canceled`, also those in the background, and those that come
   * later.
   */
  cancelAsks(): void
}

/**
 * Creates a run of a local agent's session, which has not begun. It turns the agent's output and asks into events for
 * `emit`. It emits nothing until `begin` or its first output.
 */
export function createRun(options: RunSetup): OwnedRun {
  const { sessionID, directory, promptID, nextID, now, emit, redact } = options
  const messages = createMessages(options)
  const pending = new Map<string, PendingAsk>()
  /** Asks whose answer the agent is taking. */
  const answering = new Map<string, { readonly pending: PendingAsk; readonly answer: LocalAnswer }>()
  const children: OwnedRun[] = []
  let prompt: readonly InputPart[] = []
  let state: 'new' | 'running' | 'ending' | 'ended' = 'new'
  let isRetrying = false
  /** Whether the run was aborted, so that nothing can be allowed in it. */
  let isCanceled = false
  let compactionID: string | undefined
  const own: OwnedRun = {
    sessionID,
    directory,
    promptID,
    isBackground: options.isBackground,
    hasBegun: () => state !== 'new',
    isOpen: () => state !== 'ending' && state !== 'ended',
    begin: beginRun,
    promptText: () =>
      prompt
        .flatMap((part) => (part.type === 'text' && part.synthetic !== true ? [part.text] : []))
        .join('\n\n')
        .trim(),
    setPrompt: (parts) => {
      prompt = parts
    },
    write,
    ask: openAsk,
    closeAsk: (requestID) => void closeAsk(requestID, { type: 'gone' }),
    asks: () => [...pending.values()].map(({ shown }) => shown),
    answer: answerAsk,
    cancelAsks,
    child: startChild,
    end: endRun,
  }
  return own

  /** Emits the prompt's message with its parts, and `busy`. Does nothing from the second call on. */
  function beginRun(): void {
    if (state !== 'new') return
    state = 'running'
    const message = {
      id: promptID,
      role: 'user',
      summary: false,
      createdAt: options.messageTime(),
      raw: undefined,
    } as const
    const parts = prompt.map((part, index) => promptPartEvent(part, index)).filter((part) => part !== undefined)
    emit([stamped({ type: 'message', message }), ...parts, stamped({ type: 'status', status: 'busy' })])
  }

  /** Returns the event of a part of the prompt. Undefined for parts other than texts and files. */
  function promptPartEvent(part: InputPart, index: number): ReplyEvent | undefined {
    const fields = { id: `${promptID}.${index + 1}`, messageID: promptID, status: 'sealed', raw: undefined } as const
    if (part.type === 'text') {
      const synthetic = part.synthetic === true ? true : undefined
      return stamped({ type: 'part', part: { ...fields, type: 'text', text: part.text, synthetic } })
    }
    if (part.type !== 'file') return undefined
    const { mime, url, filename } = part
    return stamped({ type: 'part', part: { ...fields, type: 'file', mime, url, filename, size: dataSize(url) } })
  }

  /**
   * Emits the outputs' events. Begins the run first, and reports it as busy again after a retry. Does nothing once the
   * run has ended.
   */
  function write(...outputs: readonly LocalOutput[]): void {
    if (!own.isOpen()) return
    beginRun()
    const events = outputs.flatMap((output) => {
      const resumed = isRetrying && output.type !== 'retry' ? [stamped({ type: 'status', status: 'busy' })] : []
      isRetrying = output.type === 'retry'
      return [...resumed, ...outputEvents(output)]
    })
    if (events.length > 0) emit(events)
  }

  /** Returns an output's events. Also stores what it adds to the run's messages. */
  function outputEvents(output: LocalOutput): readonly ReplyEvent[] {
    switch (output.type) {
      case 'text':
      case 'reasoning':
      case 'tool':
      case 'file':
      case 'usage':
        return messages.addPiece(output)
      case 'seal':
        return messages.sealText(output.raw)
      case 'message':
        return messages.beginMessage({ id: output.messageID, agent: output.agent, model: output.model })
      case 'todos':
        return [stamped({ type: 'todos', todos: output.todos, ...(!output.isRead && { isOwn: true }) })]
      case 'title':
        return [stamped({ type: 'session', title: output.title })]
      case 'context-limit':
        return [stamped({ type: 'context-limit', contextLimit: output.contextLimit })]
      case 'retry': {
        const { attempt, message, nextAt } = output
        return [stamped({ type: 'retry', attempt, message: sentenceOf(redact(message)), nextAt })]
      }
      case 'compaction':
        return compactionEvents(output.state, output.auto)
      default:
        return output satisfies never
    }
  }

  /**
   * Stores that a compaction runs or has ended, and returns its events: a new compaction part, `compacted`, or the
   * part's removal if the compaction failed.
   */
  function compactionEvents(newState: 'started' | 'done' | 'failed', auto: boolean): readonly ReplyEvent[] {
    const runningID = compactionID
    compactionID = undefined
    if (newState === 'done') return [stamped({ type: 'compacted' })]
    if (newState === 'failed') return runningID === undefined ? [] : compactionRemoved(runningID)
    const id = nextID()
    compactionID = id
    const message = { id, role: 'user', summary: false, createdAt: options.messageTime(), raw: undefined } as const
    const part = { id: `${id}.1`, messageID: id, status: 'sealed', raw: undefined, type: 'compaction', auto } as const
    // What follows belongs to the next message, because the compaction's comes first.
    return [...messages.completeMessage(), stamped({ type: 'message', message }), stamped({ type: 'part', part })]
  }

  /** Returns the events that remove a compaction's message and part. */
  function compactionRemoved(messageID: string): readonly ReplyEvent[] {
    const partID = `${messageID}.1`
    return [stamped({ type: 'part-removed', messageID, partID }), stamped({ type: 'message-removed', messageID })]
  }

  /**
   * Adds a pending ask and emits it. Begins the run first. Does nothing once the run has ended, and answers with `canceled`
   * once it was aborted.
   */
  function openAsk(request: LocalAsk): void {
    if (!own.isOpen()) return
    // The agent may have asked before it read the abort.
    if (isCanceled) return cancelRequest(request)
    const known = pending.get(request.requestID)
    if (known) return void pending.set(request.requestID, { ...known, request })
    beginRun()
    const { reply: _, ...content } = request
    const fields = { sessionID, directory, path: [sessionID], status: 'pending', askedAt: now() } as const
    const asked: Ask = { ...fields, ...content }
    pending.set(request.requestID, { request, shown: asked })
    emit([stamped({ type: 'asked', ask: asked })])
  }

  /** Removes a pending ask and emits how it was closed. Does nothing if it isn't pending. */
  function closeAsk(requestID: string, how: AskClosedEvent['how']): void {
    if (pending.delete(requestID)) emit([stamped({ type: 'ask-closed', requestID, how })])
  }

  /**
   * Sends the answer to the agent, then emits that the ask is closed. Rejects with `gone` if the ask isn't pending. If the
   * agent rejects the answer, rejects with its error, and the ask is pending again.
   */
  async function answerAsk(requestID: string, answer: LocalAnswer): Promise<void> {
    const asked = pending.get(requestID)
    if (!asked)
      throw new ReplyError('gone', `The ask ${requestID} is no longer pending, so there is nothing to answer.`)
    pending.delete(requestID)
    answering.set(requestID, { pending: asked, answer })
    try {
      await asked.request.reply(answer)
    } catch (error) {
      // The agent didn't take the answer, so the ask can be answered again.
      if (answering.delete(requestID) && state !== 'ended') reopenAsk(asked)
      throw error
    }
    closeAnswered(requestID)
  }

  /** Makes an ask pending again whose answer the agent has not taken. Cancels it if the run was aborted meanwhile. */
  function reopenAsk(asked: PendingAsk): void {
    pending.set(asked.request.requestID, asked)
    if (isCanceled) cancelOwnAsks()
  }

  /**
   * Emits that an ask that is being answered is closed. Does nothing the second time, because the answer may end the
   * run before the agent has confirmed it.
   */
  function closeAnswered(requestID: string): void {
    const answered = answering.get(requestID)
    if (!answered) return
    answering.delete(requestID)
    emit([stamped({ type: 'ask-closed', requestID, how: closedBy(answered.pending.shown, answered.answer) })])
  }

  /** Closes the asks of the run and of all its sub-agents, pending and later ones, and answers them with `canceled`. */
  function cancelAsks(): void {
    isCanceled = true
    for (const each of children) each.cancelAsks()
    cancelOwnAsks()
  }

  /**
   * Closes the pending asks of this run, but not those of its sub-agents, and answers them with `canceled`, without
   * waiting for the agent. An abort rejects them. With the end of the run they are gone, which no one has decided.
   */
  function cancelOwnAsks(): void {
    for (const [requestID, { request }] of [...pending]) {
      const rejected = request.type === 'permission' ? ({ type: 'permission', reply: 'reject' } as const) : undefined
      // Closed first, because the agent may end the run as soon as it has the answer.
      closeAsk(requestID, isCanceled ? (rejected ?? { type: 'rejected' }) : { type: 'gone' })
      cancelRequest(request)
    }
  }

  /** Answers an ask with `canceled`, without waiting for the agent. */
  function cancelRequest(request: LocalAsk): void {
    // The run has ended or is about to, so a rejection changes nothing.
    void (async () => await request.reply({ type: 'canceled' }))().catch(() => {})
  }

  /** Begins a sub-agent's run, which ends with this run unless it is in the background. Begins this run first. */
  function startChild(start: LocalChildStart): LocalRun {
    beginRun()
    const run = options.startChild(start)
    children.push(run)
    if (isCanceled) run.cancelAsks()
    return run
  }

  /**
   * Ends the sub-agents that aren't in the background, closes the asks, and emits the end of the last message, and
   * `idle` unless another run of the session goes on. Does nothing if the run has ended.
   */
  function endRun(ending: LocalEnding): void {
    if (state === 'ended' || state === 'ending') return
    beginRun()
    state = 'ending'
    for (const each of children) if (!each.isBackground) each.end(ending)
    for (const requestID of [...answering.keys()]) closeAnswered(requestID)
    cancelOwnAsks()
    state = 'ended'
    const isBusy = options.onEnd()
    // `idle` during a retry would count as aborted, but the agent reported another end.
    const resumed = isRetrying ? [stamped({ type: 'status', status: 'busy' })] : []
    const unfinished = compactionID === undefined ? [] : compactionRemoved(compactionID)
    const last = messages.endLast(endOfLastMessage(ending, redact))
    const lost = ending.type === 'lost' ? [stamped({ type: 'settle', by: 'lost' })] : []
    const idle = isBusy ? [] : [stamped({ type: 'status', status: 'idle' })]
    emit([...resumed, ...unfinished, ...last, ...lost, ...idle])
  }

  /** Adds the run's session, its directory and the current time to an event. */
  function stamped<const T extends { readonly type: ReplyEvent['type'] }>(fields: T) {
    return { sessionID, directory, at: now(), ...fields }
  }
}

/** Returns how an answer closes an ask, for its `ask-closed` event. */
function closedBy({ type }: Ask, answer: LocalAnswer): AskClosedEvent['how'] {
  if (answer.type === 'answered') return { type: 'answered', answers: answer.answers }
  if (type === 'question') return { type: 'rejected' }
  const reply: PermissionReply = answer.type === 'once' || answer.type === 'always' ? answer.type : 'reject'
  return { type: 'permission', reply }
}
