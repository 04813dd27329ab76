import type { Clock } from '@reply/core'
import type { BridgeChannel } from '@reply/sink/channel'
import type { SecretSource } from '@reply/sink/internal'
import type { BridgeConfig } from '../config/schema.ts'
import { wordsOf } from '../error.ts'
import { type ListenAddress, pair } from './pairing.ts'
import type { Questions } from './questions.ts'

/** What asking for the first person needs. */
export interface AskPersonOptions {
  readonly channel: BridgeChannel
  /** The channel's entry in the config. */
  readonly entry: object
  readonly questions: Questions
  readonly secret: (source: SecretSource) => string
  readonly listen?: ListenAddress | undefined
  readonly clock: Clock
}

/** The first person gets in by a code, or by an id that is typed: also where no code can be heard. */
export async function askPerson(options: AskPersonOptions): Promise<BridgeConfig['people']> {
  const { channel, entry, questions, secret, listen, clock } = options
  const { type } = channel
  const name = await questions.text('Your name, as the config should call you')
  const typed = new AbortController()
  const heard = new AbortController()
  let setHearing = (): void => {}
  const hearing = new Promise<boolean>((resolve) => {
    setHearing = () => resolve(true)
  })
  const paired = pair({
    ...{ channel, config: channel.schema.parse(entry), secret, listen, clock, signal: typed.signal },
    onError: (error) => questions.say(`✗ ${error.message}`),
    onWebhook: (url) => questions.say(`Let ${type} send its requests to ${url}.`),
    onCode: (code) => {
      questions.say(`Write this code to the bot, in a private chat: ${code}`)
      setHearing()
    },
  }).then(
    (actor) => {
      if (!actor) return undefined
      heard.abort()
      questions.say(`✓ ${actor.name} (${actor.id})`)
      return actor.id
    },
    (error: unknown) => void questions.say(`✗ ${wordsOf(error)}`),
  )
  try {
    const isHearing = await Promise.race([hearing, paired.then(() => false)])
    const question = isHearing ? `Waiting for the code. Or type your id on ${type}` : `Your id on ${type}`
    const check = (text: string): string | undefined => (/\s/.test(text) ? 'An id has no spaces.' : undefined)
    const asked = questions.text(question, { check, signal: heard.signal })
    const id = await Promise.race([
      paired.then((found) => found ?? asked),
      asked.catch((error: unknown) => {
        if (heard.signal.aborted) return paired
        throw error
      }),
    ])
    return { [name]: { ids: [`${type}:${id}`], may: ['prompt', 'approve', 'admin'] } }
  } finally {
    typed.abort()
    heard.abort()
    await paired
  }
}
