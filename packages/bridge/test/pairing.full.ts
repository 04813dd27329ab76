import type { Clock } from '@reply/core'
import type { BridgeChannel, ChannelHost } from '@reply/sink/channel'
import { createHandClock } from '@reply/testing'
import { startDiscord } from '@reply/testing/discord'
import { startSlack } from '@reply/testing/slack'
import { startTelegram } from '@reply/testing/telegram'
import { createFakeBaileys, startWhatsApp } from '@reply/testing/whatsapp'
import { bridgeChannel as whatsapp } from '@reply/whatsapp/bridge'
import { expect, test } from 'vitest'
import type { BaileysLibrary } from '../../whatsapp/src/baileys/connection.ts'
import { connectBaileys } from '../../whatsapp/src/baileys/connection.ts'
import { type ListenAddress, pair } from '../src/setup/pairing.ts'
import { discordOn, slackOn, telegramOn, whatsappOn } from './platforms.ts'

type Who = 'ann' | 'eve'

/** A platform on which Ann and Eve write to the bot alone, and, where it has groups, before others. */
interface Stage {
  readonly channel: BridgeChannel
  readonly entry: object
  readonly secrets: Readonly<Record<string, string>>
  readonly ids: Readonly<Record<Who, string>>
  readonly listen?: ListenAddress | undefined
  ready(url: string): Promise<unknown>
  say(who: Who, text: string): unknown
  sayToAll?(text: string): unknown
  /** The bot's messages in that person's chat. */
  answers(who: Who): readonly string[]
  close(): Promise<unknown>
}

const ours = (all: readonly { readonly from: string; readonly text: string }[]): readonly string[] =>
  all.filter(({ from }) => ['bot', 'business', 'me'].includes(from)).map(({ text }) => text)

const stages: Readonly<Record<string, () => Promise<Stage>>> = {
  Telegram: async () => {
    const chats = [{ id: 1 }, { id: 2 }, { id: -5, type: 'supergroup' as const, title: 'Shop' }]
    const fake = await startTelegram({ token: '42:secret', chats })
    const ids = { ann: '1', eve: '2' }
    return {
      ...telegramOn(fake),
      ids,
      say: (who, text) => fake.say(Number(ids[who]), text, { from: { id: Number(ids[who]), name: who } }),
      sayToAll: (text) => fake.say(-5, `@fake_bot ${text}`, { from: { id: 1, name: 'ann' } }),
      answers: (who) => ours(fake.screen(Number(ids[who]))),
    }
  },
  Slack: async () => {
    const fake = await startSlack()
    const ids = { ann: 'U1', eve: 'U2' }
    const chats = { ann: 'D1', eve: 'D2' }
    return {
      ...slackOn(fake),
      ids,
      say: (who, text) => fake.say(chats[who], text, { from: { id: ids[who], name: who } }),
      sayToAll: (text) => fake.say('C1', text, { from: { id: 'U1', name: 'ann' }, mention: true }),
      answers: (who) => ours(fake.screen(chats[who])),
    }
  },
  Discord: async () => {
    const ids = { ann: '800000000000000001', eve: '800000000000000002' }
    const chats = { ann: '100000000000000001', eve: '100000000000000002' }
    const group = '100000000000000003'
    const channels = [...Object.values(chats).map((id) => ({ id, kind: 'direct' as const })), { id: group }]
    const fake = await startDiscord({ token: 'MTA.very-secret-token', channels })
    return {
      ...discordOn(fake),
      ids,
      say: (who, text) => fake.say(chats[who], text, { from: { id: ids[who], name: who } }),
      sayToAll: (text) => fake.say(group, text, { from: { id: ids.ann, name: 'ann' }, mention: true }),
      answers: (who) => ours(fake.screen(chats[who])),
    }
  },
  'WhatsApp, by its Cloud API': async () => {
    const fake = await startWhatsApp({ token: 'EAA-very-secret' })
    const ids = { ann: '15550000001', eve: '15550000002' }
    return {
      ...whatsappOn(fake),
      ids,
      listen: { host: '127.0.0.1', port: 0 },
      say: (who, text) => fake.say(ids[who], text, { name: who }),
      answers: (who) => ours(fake.screen(ids[who])),
    }
  },
  'WhatsApp, by a linked device': async () => {
    const fake = createFakeBaileys({})
    const library: BaileysLibrary = {
      findFile: () => Promise.reject(new Error('There is no file.')),
      login: async () => ({
        number: () => '4915100000000',
        save: async () => {},
        connect: () => ({ socket: fake.connect(), pair: async () => '', end: () => fake.drop() }),
      }),
    }
    const config = { type: 'whatsapp', api: 'baileys', auth: './login', number: '4915100000000' } as const
    const ids = { ann: '15550000001@s.whatsapp.net', eve: '15550000002@s.whatsapp.net' }
    return {
      channel: { ...whatsapp, create: async (_, host) => await connectBaileys(config, host, library) },
      ...{ entry: config, secrets: {}, ids, ready: async () => {} },
      say: (who, text) => fake.say(ids[who], text, { name: who }),
      sayToAll: (text) => fake.say('120363000000000000@g.us', text, { mention: true }),
      answers: (who) => ours(fake.screen(ids[who])),
      close: async () => fake.drop(),
    }
  },
}

/** Pairs on a stage. `code()` is the newest one. */
async function begin({ channel, entry, secrets, listen, ready }: Stage, clock?: Clock) {
  const codes: string[] = []
  const errors: string[] = []
  const stopping = new AbortController()
  let url = ''
  const paired = pair({
    ...{ channel, config: channel.schema.parse(entry), listen, clock, signal: stopping.signal },
    secret: (source) => ('env' in source && secrets[source.env]) || '',
    onCode: (code) => codes.push(code),
    onWebhook: (address) => {
      url = address
    },
    onError: ({ message }) => errors.push(message),
  })
  await Promise.race([expect.poll(() => codes.length).toBe(1), paired])
  await ready(url)
  return { codes, errors, paired, code: () => codes.at(-1) ?? '', stop: () => stopping.abort() }
}

async function onStage(name: string, act: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await stages[name]?.()
  if (!stage) return expect.fail(`There is no stage ${name}.`)
  try {
    await act(stage)
  } finally {
    await stage.close()
  }
}

const wrong = 'AAAA-AAAA'
const refusal = 'This is not the code. Check the terminal.'
const welcome = 'You are connected. Go back to the terminal.'

test.each(Object.keys(stages))(
  '%s: the code lets in who writes it alone, once; another code does not',
  async (name) => {
    await onStage(name, async (stage) => {
      const { paired, code, errors } = await begin(stage)
      stage.say('eve', 'hello')
      stage.say('eve', wrong)
      await expect.poll(() => stage.answers('eve')).toEqual([refusal])
      stage.say('ann', code().replace('-', '').toLowerCase())
      expect((await paired)?.actor.id).toBe(stage.ids.ann)
      expect(stage.answers('ann')).toEqual([welcome])
      expect(errors).toEqual([])
      // The platform delivers none of it again to the bridge that comes next, and the code is used up.
      const next = await begin(stage)
      stage.say('eve', code())
      await expect.poll(() => stage.answers('eve')).toEqual([refusal, refusal])
      expect(stage.answers('ann')).toEqual([welcome])
      next.stop()
      await next.paired
    })
  },
)

test.each(Object.keys(stages))('%s: the code of an earlier start lets no one in', async (name) => {
  await onStage(name, async (stage) => {
    const first = await begin(stage)
    first.stop()
    expect(await first.paired).toBeUndefined()
    const second = await begin(stage)
    stage.say('ann', first.code())
    await expect.poll(() => stage.answers('ann')).toEqual([refusal])
    stage.say('ann', second.code())
    expect((await second.paired)?.actor.id).toBe(stage.ids.ann)
  })
})

test('who tries many codes is not heard for a minute', async () => {
  await onStage('Telegram', async (stage) => {
    const clock = createHandClock()
    const answers: string[] = []
    let hear: ChannelHost['onInbound'] = () => {}
    const create: BridgeChannel['create'] = async (config, host) => {
      hear = host.onInbound
      return { ...(await stage.channel.create(config, host)), start: async () => {}, stop: async () => {} }
    }
    const { paired, code } = await begin({ ...stage, channel: { ...stage.channel, create } }, clock)
    for (let tries = 1; tries <= 10; tries++) await write('2', wrong)
    await write('2', code())
    expect(answers).toEqual(Array.from({ length: 10 }, () => refusal))
    await clock.advance(60_001)
    await write('2', code())
    expect((await paired)?.actor.id).toBe('2')

    async function write(id: string, text: string): Promise<void> {
      const place = { chat: { id, kind: 'private' }, messageRef: { id: '1' }, actor: { id, name: 'Eve' } } as const
      const answer = async (words = '') => void answers.push(words)
      await hear({ type: 'text', ...place, text, isCommand: false, answer }, '1')
    }
  })
})

// WhatsApp's Cloud API has no groups.
const withGroups = Object.keys(stages).filter((name) => !name.includes('Cloud'))
test.each(withGroups)('%s: a code that is written in a group no longer counts, and another one does', async (name) => {
  await onStage(name, async (stage) => {
    const { paired, code, codes, errors } = await begin(stage)
    const [first = ''] = codes
    stage.sayToAll?.(first)
    await expect.poll(() => codes.length).toBe(2)
    expect(errors).toEqual(['Someone wrote the code where others can read it, so it no longer counts.'])
    stage.say('eve', first)
    await expect.poll(() => stage.answers('eve')).toEqual([refusal])
    stage.say('ann', code())
    expect((await paired)?.actor.id).toBe(stage.ids.ann)
  })
})

test('a channel that brings messages as requests needs an address to listen on', async () => {
  await onStage('WhatsApp, by its Cloud API', async (stage) => {
    await expect(begin({ ...stage, listen: undefined })).rejects.toThrow('Start again with --listen')
  })
})
