import type { InboundFile, MessageRef } from '@reply/sink'
import { BridgeError, isTakenOver, toError } from '../error.ts'
import { eventPlace } from '../events/emit.ts'
import type { ChatPlace } from '../place.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import type { Write } from '../store/store.ts'
import { chatMessageOf, plain, quoted, texts } from '../texts.ts'
import { newAbortController, waitAtMost } from '../timers.ts'
import { audioTypeOf, isAudio } from '../voice/audio.ts'
import type { NotUnderstood, Transcription } from '../voice/transcriber.ts'
import { isAsking } from './active-runs.ts'
import type { Runner } from './runner.ts'
import type { BridgeServices } from './services.ts'

/**
 * Transcribes the voice notes of queued prompts, and quotes in the chat what was understood. A prompt with a note that can't be
 * transcribed is refused: neither the note nor a part of the prompt reaches the agent.
 */
export interface SpokenPrompts {
  /**
   * Transcribes the notes of a queued prompt, and quotes them. Resolves when the prompt is ready to run, was refused or has left
   * the queue. A prompt that is being transcribed is not transcribed twice. Resolves early when the bridge stops. Rejects if the
   * store fails, and the next call then continues.
   */
  prepare(prompt: QueuedPrompt): Promise<void>
  /** Prepares the prompts in the queue of a place in the background, oldest first, so that people see early what was understood. */
  prepareAll(place: ChatPlace): void
  /** Ends the transcription of a prompt that was removed or whose text was replaced. */
  cancel(prompt: QueuedPrompt): void
  /** Ends all transcriptions. The next process does them again. */
  stop(): void
}

/** How long a prompt waits until the quotation of its text is posted, in ms. */
const quoteMs = 5000
/** How long to wait after an error before the queue of a place is prepared again, in ms. */
const retryMs = 1000

/** Whether a queued prompt has a voice note, or a quotation that is not posted yet. */
export function isUnprepared({ files, quote }: QueuedPrompt): boolean {
  return files.some(isAudio) || quote === 'due'
}

/** Creates it for the queues of a runner. */
export function createSpokenPrompts(
  services: Pick<
    BridgeServices,
    'config' | 'state' | 'channels' | 'runs' | 'mirrors' | 'transcriber' | 'clock' | 'emit' | 'onError'
  >,
  queue: Pick<Runner, 'queueNameOf' | 'queueIDOf' | 'queuedPrompts' | 'replace' | 'refusePrompt' | 'changeQueue'> & {
    /** Handles a queued prompt, or puts it aside if that ended the process each time. */
    readonly tryQueued: (prompt: QueuedPrompt, handle: () => Promise<void>) => Promise<void>
  },
): SpokenPrompts {
  const { state, channels, runs, mirrors, transcriber, clock, emit, onError } = services
  const { router } = services.config
  /** By the name of a queued prompt: its preparation, and what ends its transcription. */
  const preparing = new Map<string, { readonly done: Promise<void>; readonly canceling: AbortController }>()
  /** Keys of places whose queue is being prepared. True if it is to be looked at once more. */
  const places = new Map<string, boolean>()
  let isStopped = false
  const nameOf = (prompt: QueuedPrompt): string => `${queue.queueNameOf(prompt)} ${queue.queueIDOf(prompt)}`
  return { prepare, prepareAll, cancel, stop }

  /** Joins the preparation in progress, or begins one. */
  async function prepare(prompt: QueuedPrompt): Promise<void> {
    const name = nameOf(prompt)
    const current = preparing.get(name)
    if (current) return await current.done
    const canceling = newAbortController()
    const done = queue
      .tryQueued(prompt, async () => await prepareToEnd(prompt, canceling.signal))
      .finally(() => preparing.delete(name))
    preparing.set(name, { done, canceling })
    await done
  }

  /** Prepares one prompt after the other until none needs it. Reports errors and tries again, unless the bridge stops. */
  function prepareAll(place: ChatPlace): void {
    const key = mirrors.keyOf(place)
    if (places.has(key)) return void places.set(key, true)
    places.set(key, false)
    const prepareQueued = async (): Promise<void> => {
      for (const prompt of await queue.queuedPrompts(place))
        if (!isStopped && isUnprepared(prompt)) await prepare(prompt)
    }
    prepareQueued().then(
      () => {
        const isChanged = places.get(key)
        places.delete(key)
        if (isChanged && !isStopped) prepareAll(place)
      },
      (error: unknown) => {
        places.delete(key)
        if (isStopped || isTakenOver(error)) return
        onError(toError(error))
        clock.after(retryMs, () => prepareAll(place))
      },
    )
  }

  /** Aborts the transcription. Does nothing if there is none. */
  function cancel(prompt: QueuedPrompt): void {
    preparing.get(nameOf(prompt))?.canceling.abort()
  }

  /** Aborts all transcriptions, and begins none from then on. */
  function stop(): void {
    isStopped = true
    for (const { canceling } of preparing.values()) canceling.abort()
  }

  /** Transcribes one note after the other, because an album may grow meanwhile. Then posts the quotation. */
  async function prepareToEnd(prompt: QueuedPrompt, signal: AbortSignal): Promise<void> {
    for (;;) {
      const queued = await findQueued(prompt)
      const note = queued?.files.find(isAudio)
      if (isStopped || !queued) return
      if (!note) return await postQuote(queued)
      await takeNote(queued, note, signal)
      // Someone has removed it, or written another text.
      if (signal.aborted) return
    }
  }

  /** Returns a prompt as it is queued. Undefined if it has left the queue. */
  async function findQueued(prompt: QueuedPrompt): Promise<QueuedPrompt | undefined> {
    const id = queue.queueIDOf(prompt)
    return (await queue.queuedPrompts(prompt)).find((one) => queue.queueIDOf(one) === id)
  }

  /**
   * Replaces a note of a queued prompt with its text, or refuses the prompt and reports why the note was not understood. Does
   * nothing if the signal aborts or the prompt has lost the note meanwhile.
   */
  async function takeNote(prompt: QueuedPrompt, note: InboundFile, signal: AbortSignal): Promise<void> {
    const heard = await hear(prompt, note, signal)
    if (signal.aborted) return
    await queue.changeQueue(prompt, async () => {
      const queued = await findQueued(prompt)
      if (!queued?.files.some(({ ref }) => ref === note.ref)) return
      if (heard.type === 'refused') return await refuse(queued, heard.text)
      const grown = withText(queued, note, heard.text)
      if (grown.text.length > router.maxTextLength)
        return await refuse(queued, texts.noteTooLong(grown.text.length, router.maxTextLength))
      // It conflicts if someone removed it meanwhile.
      await state.withRetries(() => state.commit([queue.replace(grown)]))
    })
  }

  /** Removes a prompt, and tells its author why it does not run. */
  async function refuse(prompt: QueuedPrompt, text: string): Promise<void> {
    const removal: Write = { type: 'dequeue', queue: queue.queueNameOf(prompt), id: queue.queueIDOf(prompt) }
    await state.withRetries(() => queue.refusePrompt(prompt, [removal], text))
  }

  /** Downloads a note once and transcribes it. Resolves with its text, or with the text of a refusal. Reports failures. */
  async function hear(
    prompt: QueuedPrompt,
    note: InboundFile,
    signal: AbortSignal,
  ): Promise<{ readonly type: 'heard' | 'refused'; readonly text: string }> {
    const listener = transcriber()
    if (!listener) return { type: 'refused', text: texts.noTranscriber }
    channels.showTyping(prompt)
    const download = async (): Promise<Uint8Array> =>
      await channels.connectionOf(prompt.channel).download(note, { maxBytes: router.maxFileBytes, signal })
    const startedAt = clock.monotonic()
    /** One that was canceled tells nothing, because the next process may begin it again. */
    const report = (outcome: 'understood' | 'not-downloaded' | NotUnderstood): void => {
      const tookMs = clock.monotonic() - startedAt
      if (!signal.aborted) emit({ type: 'transcription', ...eventPlace(prompt, clock.now()), result: outcome, tookMs })
    }
    let result: Transcription
    try {
      result = await listener.transcribe(download, audioTypeOf(note), signal, note.seconds)
    } catch (error) {
      report('not-downloaded')
      if (!signal.aborted) onError(toError(error))
      return { type: 'refused', text: texts.fileFailed(plain(note.name), plain(chatMessageOf(error))) }
    }
    report(result.type === 'understood' ? 'understood' : result.why)
    if (result.type === 'understood') return { type: 'heard', text: result.text }
    const { why, detail, length } = result
    if (detail !== undefined && !signal.aborted) {
      const who = prompt.actor.name ?? prompt.actor.id
      onError(new BridgeError('inbound', `A voice note of ${who} was not transcribed (${why}): ${detail}`))
    }
    return { type: 'refused', text: length ? texts.noteTooLongToHear(length) : texts.notUnderstood[why] }
  }

  /**
   * Posts what was understood as a reply to the note, silently, if that is due. While the prompt waits for others, the message
   * says how to change the text. Stores the message then. Waits for the post at most `quoteMs`, so that a chat that accepts no
   * messages does not delay the prompt.
   */
  async function postQuote(prompt: QueuedPrompt): Promise<void> {
    if (prompt.quote !== 'due') return
    const [head] = await queue.queuedPrompts(prompt)
    const isBehind = runs.active(prompt).length > 0 || (head && queue.queueIDOf(head) !== queue.queueIDOf(prompt))
    // A run that was started elsewhere may have asked, too.
    const isAfterAsks = runs.followed(prompt).some(isAsking)
    // Since it was queued, the channel may have left the config.
    const hasNoReplies = channels.has(prompt.channel) && channels.connectionOf(prompt.channel).hasNoReplies
    const help = hasNoReplies ? texts.quoteHelpWithoutReplies : texts.quoteHelp
    const hints = [...(isAfterAsks ? [texts.spokenNoAnswer] : []), ...(isAfterAsks || isBehind ? [help] : [])]
    const text = [texts.understood, '', quoted(prompt.text), ...hints.flatMap((hint) => ['', plain(hint)])].join('\n')
    let isStored = false
    const posted = channels.tryPost(prompt, { text, replyTo: prompt.messageRef, silent: true }).then(async (refs) => {
      await storeQuote(prompt, refs.at(-1), isAfterAsks)
      isStored = true
    })
    posted.catch((error: unknown) => isStopped || isTakenOver(error) || onError(toError(error)))
    await waitAtMost(posted, quoteMs, clock)
    if (!isStored) await storeQuote(prompt, undefined, isAfterAsks)
  }

  /**
   * Stores the message with the quotation of a queued prompt, or that there is none, and whether the prompt waits until requests are
   * answered: not if someone has typed another text meanwhile.
   */
  async function storeQuote(prompt: QueuedPrompt, quote: MessageRef | undefined, isAfterAsks: boolean): Promise<void> {
    await queue.changeQueue(prompt, async () => {
      const queued = await findQueued(prompt)
      if (!queued) return
      const after = isAfterAsks && queued.isSpoken ? { isAfterAsks } : {}
      await state.withRetries(() => state.commit([queue.replace({ ...queued, quote, ...after })]))
    })
  }
}

/**
 * Returns a prompt without a note, and with what was spoken below its text. It never is a command, also if the text of its album
 * was one: what a transcriber prints must not become the argument of a command.
 */
function withText(prompt: QueuedPrompt, note: InboundFile, spoken: string): QueuedPrompt {
  const text = [prompt.text, spoken]
    .filter((one) => one !== '')
    .join('\n')
    .replace(/^[\s/]+/, '')
  const files = prompt.files.filter(({ ref }) => ref !== note.ref)
  return { ...prompt, text, files, isCommand: false, isSpoken: true, quote: 'due' }
}
