import { systemClock } from '@reply/core'
import type { TakenAsk } from '../../asks/answering.ts'
import type { AskText } from '../../asks/asks.ts'
import type { MessageRef } from '../../port/port.ts'
import type { Sink } from '../../sink.ts'
import { acting, begin, patienceMs } from './acting.ts'
import { askOf, replyOf } from './script.ts'
import { type Demand, must, type Stage, until } from './stage.ts'

/** Which typed text answers an ask. */
export const typed = [
  {
    name: 'asks, and accepts a number as the answer',
    run: async (stage) => {
      await asking(stage, async (write) => {
        const taken = await write({ afterMs: 0 })
        must(taken?.type === 'answer' && String(taken.answer) === 'Red', 'The number 1 is not the first option.')
      })
    },
  },
  {
    name: 'ignores text that was written before it asked',
    run: async (stage) => {
      await asking(stage, async (write) => {
        must(
          (await write({ afterMs: -1_000_000 })) === undefined,
          'Text from before the request was taken as an answer.',
        )
      })
    },
  },
  {
    name: 'ignores text that replies to another message',
    run: async (stage) => {
      await asking(stage, async (write) => {
        const taken = await write({ afterMs: 0, replyTo: { id: 'another' } })
        must(taken === undefined, 'A reply to another message was taken as an answer.')
      })
    },
  },
] as const satisfies readonly Demand[]

interface Writing {
  /** How long after now it was written, by the platform's clock, in ms. */
  readonly afterMs: number
  readonly replyTo?: MessageRef
}

type Write = (writing: Writing) => Promise<TakenAsk | undefined>

/** Shows a question, then passes `write`, which takes "1" from a person who may answer. */
async function asking(stage: Stage, act: (write: Write) => Promise<void>): Promise<void> {
  const { chat, clock = systemClock } = stage
  const ada = { id: 'ada', name: 'Ada' }
  const textOf = ({ afterMs, replyTo }: Writing): AskText => {
    const messageRef = { id: 'written', postedAt: clock.now() + afterMs }
    return { text: '1', chat, messageRef, replyTo }
  }
  const run = async (sink: Sink): Promise<void> => {
    begin(sink, replyOf('', { ask: askOf({}) }))
    let isAsked = false
    const isDone = (): boolean => {
      void sink.find(textOf({ afterMs: 0 }), ada).then((found) => {
        isAsked = found.length > 0
      })
      return isAsked
    }
    await until(stage, { isDone, withinMs: patienceMs, message: 'Text does not answer the question.' })
    await act(async (writing) => await sink.take(textOf(writing), ada))
  }
  await acting(stage, run, { answerers: [ada.id] })
}
