import { type Clock, systemClock } from '@reply/core'
import type { Demand } from '@reply/core/testing'
import type { BridgeConnection } from '../../inbound/bridge-channel.ts'
import type { Inbound } from '../../inbound/inbound.ts'
import { settledDelivery, startReply } from './acting.ts'
import { type BridgeStage, createHost, receivedText, withConnection } from './bridge-stage.ts'
import { replyOf } from './script.ts'
import { failureOf, must, readsAs, until } from './stage.ts'

const bytes = new TextEncoder().encode('The content of a file.')

/** What a connection must do when several processes share its account. Uses the system's clock. */
export const sharing = [
  {
    name: 'works before a start and after a stop, or rejects at once',
    run: async (stage) => {
      const connection = await createConnection(stage)
      const check = connection.posts === 'anywhere' ? checkWorks : checkRejects
      await check(stage, connection, 'before')
      await connection.start()
      await checkWorks(stage, connection, 'meanwhile')
      await connection.stop()
      await check(stage, connection, 'after')
    },
  },
  {
    name: 'shows a reply without a start, or once it is started',
    run: async (stage) => {
      const connection = await createConnection(stage)
      const sink = connection.sinkFor({ chat: stage.chat }, { policy: { statusAfterMs: 3_600_000 } })
      startReply(sink, replyOf('An answer.', { isSettled: true }))
      if (connection.posts === 'listener') await connection.start()
      await settledDelivery({}, sink)
      await sink.stop()
      await connection.stop()
      const answers = stage.screen().filter(({ text }) => readsAs(text, 'An answer.'))
      must(answers.length === 1, `The chat shows the answer ${answers.length} times.`)
    },
  },
  {
    name: 'downloads a file that another process received',
    run: async (stage) => {
      const other = await createConnection(stage)
      await withConnection(stage, async (at) => {
        await stage.writeText({ text: '', file: { name: 'notes.txt', bytes } })
        const [file] = (await receivedText(at, 1)).files ?? []
        must(file !== undefined, 'It passed on no file.')
        const read = await other.download(file, { maxBytes: bytes.length })
        must(new TextDecoder().decode(read) === new TextDecoder().decode(bytes), 'It read another content.')
      })
    },
  },
  {
    name: 'starts and stops again and again, and leaves nothing behind',
    run: async (stage) => {
      const { clock, pending } = countingClock()
      const received: Inbound[] = []
      const errors: Error[] = []
      const connection = await createConnection(stage, {
        clock,
        onInbound: (inbound) => received.push(inbound),
        onError: (error) => errors.push(error),
      })
      await connection.stop()
      await Promise.all([connection.start(), connection.start()])
      await connection.stop()
      void connection.start()
      await connection.stop()
      await connection.start()
      await connection.start()
      await stage.writeText({ text: 'Once.' })
      await receivedText({ connection, received, errors }, 1)
      await requireConnections(stage, 1)
      await Promise.all([connection.stop(), connection.stop()])
      await requireConnections(stage, 0)
      must(received.length === 1, `The host received ${received.length} inbounds instead of one.`)
      must(pending() === 0, `${pending()} timers run after a stop.`)
      must(errors.length === 0, `It reported ${errors.map(String).join('; ')}`)
    },
  },
  {
    name: 'loses no message when processes that share the account start and stop',
    run: async (stage) => {
      const { open, taken, requireTaken } = sharedState(stage)
      const [one, other] = [await open(), await open()]
      const write = async (...texts: readonly string[]): Promise<void> => {
        for (const text of texts) await stage.writeText({ text })
      }
      try {
        await one.start()
        await write('One.')
        await requireTaken('One.')
        if (one.listens === 'anywhere') {
          await other.start()
          await write('Two.', 'Three.', 'Four.')
          await requireTaken('Two.', 'Three.', 'Four.')
          await one.stop()
        } else {
          await one.stop()
          if (stage.keepsMessages) await write('Two.')
          await other.start()
          await write('Three.')
          await requireTaken(...(stage.keepsMessages ? ['Two.'] : []), 'Three.')
          // A process that lost its turn without noticing stops late.
          await one.start()
          await write('Four.')
          await other.stop()
        }
        await write('Five.')
        await requireTaken('Four.', 'Five.')
        must(new Set(taken).size === taken.length, `A message was taken twice: ${taken.join(' ')}`)
      } finally {
        await one.stop()
        await other.stop()
      }
    },
  },
] as const satisfies readonly Demand<BridgeStage>[]

interface HostOptions {
  readonly onInbound?: (inbound: Inbound) => void
  readonly onError?: (error: Error) => void
  readonly clock?: Clock
}

/** Creates a connection that is not started. */
async function createConnection(
  stage: BridgeStage,
  { onInbound = () => {}, onError = () => {}, clock = systemClock }: HostOptions = {},
): Promise<BridgeConnection> {
  const host = { ...createHost(stage, onInbound, onError), clock }
  return await stage.channel.create(stage.channel.schema.parse(stage.config), host)
}

/** Throws unless the connection posts, edits, types and fills the menu. */
async function checkWorks(stage: BridgeStage, connection: BridgeConnection, when: string): Promise<void> {
  const text = `Posted ${when}.`
  const [ref] = await connection.post({ chat: stage.chat, text })
  const shows = (expected: string): boolean =>
    stage.screen().some((message) => message.id === ref?.id && readsAs(message.text, expected))
  must(ref !== undefined && shows(text), `The chat does not show "${text}".`)
  const edited = await connection.edit(ref, { chat: stage.chat, text: `Edited ${when}.` }).then(
    () => true,
    () => false,
  )
  must(!edited || shows(`Edited ${when}.`), 'An edit changed nothing.')
  await connection.typing(stage.chat)
  must(stage.isTyping === undefined || stage.isTyping(), 'The chat shows no typing notice.')
  await connection.setCommands?.([{ name: when, description: 'Says when it was set.' }])
  must(stage.commands === undefined || stage.commands().join() === when, `The menu has ${stage.commands?.().join()}.`)
}

/** Throws unless a post and an edit reject with `unreachable` and a typing notice does nothing. */
async function checkRejects(stage: BridgeStage, connection: BridgeConnection, when: string): Promise<void> {
  const { chat } = stage
  const posts = stage.screen().length
  const since = systemClock.now()
  for (const call of [
    connection.post({ chat, text: `Posted ${when}.` }),
    connection.edit({ id: '1' }, { chat, text: `Edited ${when}.` }),
  ]) {
    const { type } = await failureOf(call)
    must(type === 'unreachable', `The error type of a call ${when} is ${type}.`)
  }
  await connection.typing(chat)
  const tookMs = systemClock.now() - since
  must(tookMs < 5000, `The calls ${when} took ${tookMs} ms to be refused.`)
  must(stage.screen().length === posts, 'A call that was refused posted a message.')
}

/** Waits until the platform sees that many connections of the account. Throws after 20 s. */
async function requireConnections({ connections }: BridgeStage, count: number): Promise<void> {
  if (!connections) return
  const isDone = (): boolean => connections() === count
  await until({}, { isDone, withinMs: 20_000, message: `The platform does not see ${count} connections.` })
}

/** Returns the system's clock, and the number of its timers that have neither run nor been stopped. */
function countingClock(): { readonly clock: Clock; readonly pending: () => number } {
  const timers = new Set<object>()
  const after: Clock['after'] = (delayMs, run) => {
    const timer = {}
    timers.add(timer)
    const stop = systemClock.after(delayMs, () => {
      timers.delete(timer)
      run()
    })
    return () => {
      timers.delete(timer)
      stop()
    }
  }
  return { clock: { ...systemClock, after }, pending: () => timers.size }
}

/** The state that the processes of a bridge share: which messages they have taken, each once. */
function sharedState(stage: BridgeStage): {
  /** Creates the connection of another process. */
  readonly open: () => Promise<BridgeConnection>
  /** The texts of the messages that were taken, in order. */
  readonly taken: readonly string[]
  /** Waits until these texts were taken. Throws after 20 s. */
  readonly requireTaken: (...texts: readonly string[]) => Promise<void>
} {
  const taken: string[] = []
  const seen = new Set<string>()
  let since = systemClock.now() - 60_000
  return { open, taken, requireTaken }

  /** Creates the connection of another process, which is not started. */
  async function open(): Promise<BridgeConnection> {
    const host = {
      ...createHost(stage, take, () => {}),
      chats: async () => [{ chat: stage.chat, since }],
    }
    return await stage.channel.create(stage.channel.schema.parse(stage.config), host)
  }

  /** Takes a message unless a process has it. */
  function take(inbound: Inbound): void {
    if (inbound.type !== 'text' || seen.has(inbound.messageRef.id)) return
    seen.add(inbound.messageRef.id)
    since = Math.max(since, inbound.messageRef.postedAt ?? since)
    taken.push(inbound.text)
  }

  /** Waits until these texts were taken. Throws after 20 s, with what was taken. */
  async function requireTaken(...texts: readonly string[]): Promise<void> {
    const isDone = (): boolean => texts.every((text) => taken.includes(text))
    await until({}, { isDone, withinMs: 20_000, message: `Not all of these were taken: ${texts.join(' ')}` }).catch(
      (error) => {
        throw new Error(`${String(error)} Taken: ${taken.join(' ')}`)
      },
    )
  }
}
