import { type Clock, type ReplyObserver, replay } from '@reply/core'
import { pause } from '@reply/core/internal'
import { createSink, type MessageRef, type Sink } from '@reply/sink'
import type { AppendStream, Bubble, ChannelPort, PreviewStream, StreamPiece } from '@reply/sink/channel'
import type { ChannelBudget, ChannelCall, ChannelLog } from '@reply/web/inspect'
import type { InspectedChannel, OpenedChat } from './channels.ts'
import { createPlayClock } from './play-clock.ts'

/** How long each call takes. Real ones take 50 to 300 ms. */
const callMs = 120

/** For how long the calls after the recording's end are played, in ms. */
const lastMs = 10 * 60_000

/** UTF-16 units of the texts that a log may have. */
const mostUnits = 8_000_000

/**
 * Plays a recording at its own pace to the channel's real port and layout, on a platform that takes every call, and returns all
 * calls. Each session has a chat of its own. The clock is not the computer's, so hours take seconds.
 */
export async function playChannel(recording: Uint8Array, channel: InspectedChannel): Promise<ChannelLog> {
  const calls: ChannelCall[] = []
  const sinks = new Map<string, Sink>()
  const clock = createPlayClock(0)
  let budgets: readonly ChannelBudget[] = []
  let maxLength = 0
  let units = 0
  await replay(recording, {
    pace: (at) => clock.advanceTo(at),
    observe: ({ sessionID }) => [sinkOf(sessionID)],
  })
  await finish()
  return {
    name: channel.name,
    title: channel.title,
    maxLength,
    isTerminal: false,
    budgets,
    calls,
    isCut: units > mostUnits,
  }

  function sinkOf(sessionID: string): ReplyObserver {
    const known = sinks.get(sessionID)
    if (known) return known
    const made: string[] = []
    const opened = channel.open({ number: sinks.size + 1, clock, onCall: (name) => made.push(name) })
    budgets = budgetsOf(opened)
    maxLength = opened.port.limits.maxLength
    const port = recordingPort(opened.port, clock, made, (call) => note({ ...call, sessionID }))
    const sink = createSink({ ...opened, port, clock })
    sinks.set(sessionID, sink)
    return sink
  }

  function note(call: ChannelCall): void {
    units += (call.content?.source.length ?? 0) + (call.content?.text.length ?? 0) + (call.added?.length ?? 0)
    if (units <= mostUnits) calls.push(call)
  }

  /** Plays on until all is shown. */
  async function finish(): Promise<void> {
    let isShown = false
    const shown = Promise.all([...sinks.values()].map((sink) => sink.settled())).then(() => {
      isShown = true
    })
    const end = clock.now() + lastMs
    await clock.advanceTo(clock.now())
    for (let next = clock.next(); !isShown && next !== undefined && next <= end; next = clock.next())
      await clock.advanceTo(next)
    await Promise.all([...sinks.values()].map((sink) => sink.stop()))
    await shown
  }
}

type Noted = Omit<ChannelCall, 'sessionID' | 'at' | 'platform'>

/** Returns the port with each call noted, which takes a while as on the platform. */
function recordingPort(
  port: ChannelPort,
  clock: Clock,
  made: string[],
  note: (call: Omit<ChannelCall, 'sessionID'>) => void,
): ChannelPort {
  const { edit, remove, typing, upload, react } = port
  let files = 0
  return {
    get limits() {
      return port.limits
    },
    post: (bubble, posting) =>
      noted(
        () => port.post(bubble, posting),
        (ref) => ({ kind: 'post', message: ref.id, content: contentOf(bubble), isSilent: posting.silent }),
      ),
    ...(edit && {
      edit: (ref, bubble, options) =>
        noted(
          () => edit(ref, bubble, options),
          () => ({ kind: 'edit', message: ref.id, content: contentOf(bubble) }),
        ),
    }),
    ...(remove && {
      remove: (ref, options) =>
        noted(
          () => remove(ref, options),
          () => ({ kind: 'remove', message: ref.id }),
        ),
    }),
    ...(typing && {
      typing: (isOn, options) =>
        noted(
          () => typing(isOn, options),
          () => ({ kind: 'typing', isOn }),
        ),
    }),
    // No file is uploaded, as some platforms get them at addresses of their own.
    ...(upload && {
      upload: (file, posting) =>
        noted(
          async () => fileRef(),
          ({ id }) => ({ kind: 'upload', message: id, files: [file.name], isSilent: posting.silent }),
        ),
    }),
    ...(react && {
      react: (ref, sign, options) =>
        noted(
          () => react(ref, sign, options),
          () => ({ kind: 'react', message: ref.id }),
        ),
    }),
    ...(port.lookUp && { lookUp: port.lookUp }),
    ...(port.reports && { reports: port.reports }),
    get stream(): AppendStream | PreviewStream | undefined {
      const { stream } = port
      if (!stream) return undefined
      if (stream.kind === 'preview')
        return {
          ...stream,
          write: (bubble: Bubble, options) =>
            noted(
              () => stream.write(bubble, options),
              () => ({ kind: 'preview', content: contentOf(bubble) }),
            ),
        }
      return {
        ...stream,
        measure: (text) => stream.measure(text),
        open: (piece, posting) =>
          noted(
            () => stream.open(piece, posting),
            (ref) => ({ kind: 'open', message: ref.id, isSilent: posting.silent, ...addedBy(piece) }),
          ),
        append: (ref, piece, options) =>
          noted(
            () => stream.append(ref, piece, options),
            () => ({ kind: 'append', message: ref.id, ...addedBy(piece) }),
          ),
        close: (ref, piece, options) =>
          noted(
            () => stream.close(ref, piece, options),
            () => ({ kind: 'close', message: ref.id, ...addedBy(piece) }),
          ),
      }
    },
  }

  function fileRef(): MessageRef {
    files += 1
    return { id: `file ${files}`, postedAt: clock.now() }
  }

  /** Makes a call after the time that it takes, and notes it at its beginning. */
  async function noted<T>(make: () => Promise<T>, describe: (result: T) => Noted): Promise<T> {
    const at = clock.now()
    await pause(clock, callMs)
    made.length = 0
    const result = await make()
    note({ at, platform: [...made], ...describe(result) })
    return result
  }
}

function contentOf({ source, text, length, buttons }: Bubble): NonNullable<ChannelCall['content']> {
  return { source, text, length, buttons: buttons.map((row) => row.map(({ label }) => label)) }
}

function addedBy({ text, tasks }: StreamPiece): Pick<ChannelCall, 'added' | 'tasks'> {
  return { added: text, tasks: tasks.map(({ id, title, status }) => ({ id, title, status })) }
}

function budgetsOf({ port: { limits } }: OpenedChat): readonly ChannelBudget[] {
  const { perChat, burst, perClient, perKind = {} } = limits
  const chat = { of: 'chat', isShared: false }
  return [
    ...(burst ? [{ ...chat, ...burst }] : []),
    { ...chat, ...perChat },
    ...(perClient ? [{ of: 'client', isShared: true, ...perClient }] : []),
    ...Object.entries(perKind).map(([of, { calls, perMs, scope }]) => ({
      of,
      isShared: scope === 'client',
      calls,
      perMs,
    })),
  ]
}
