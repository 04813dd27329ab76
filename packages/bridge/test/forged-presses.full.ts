import type { LocalRun } from '@reply/core/source'
import { startDiscord } from '@reply/testing/discord'
import { startSlack } from '@reply/testing/slack'
import { startWhatsApp } from '@reply/testing/whatsapp'
import { afterEach, expect, test } from 'vitest'
import { type Chats, startChats } from './chats.ts'
import { answer, localAgent } from './local-agent.ts'
import { discordOn, type Platform, slackOn, whatsappOn } from './platforms.ts'

/** A platform whose presses can be forged, and what can be done with a press's credentials for a while. */
interface Forgery {
  readonly platform: Platform
  /** Has the platform send a press by Ann of the newest button `label`, as if it stood on the message with that text. */
  forge(label: string, text: string): Promise<void>
  /** What the bot answered to Ann alone, or in her chat. */
  told(): string
  /** The tokens of all buttons of the chat. */
  tokens(): readonly string[]
}

const credential = 'very-secret-credential'
const eve = { id: '15550000001', name: 'Ann' }

async function slack(): Promise<Forgery> {
  const fake = await startSlack()
  const platform = slackOn(fake)
  const ours = () => fake.screen('C1').filter(({ from }) => from === 'bot')
  const controls = () => ours().flatMap((message) => message.controls.flat())
  return {
    platform,
    told: () => fake.whispers.map(({ text }) => text).join(),
    tokens: () => controls().map(({ value }) => value),
    forge: async (label, text) => {
      const control = controls().findLast((one) => one.label === label)
      const on = ours().find((message) => message.text.includes(text))
      const ids = { action_id: control?.actionId, block_id: control?.blockId }
      const payload = {
        ...{ type: 'block_actions', user: { id: 'U1', name: 'Ann' }, trigger_id: credential, channel: { id: 'C1' } },
        container: { type: 'message', message_ts: on?.ts, channel_id: 'C1', thread_ts: on?.threadTs },
        message: { ts: on?.ts, thread_ts: on?.threadTs },
        actions: [{ ...ids, type: 'button', value: control?.value }],
      }
      fake.pushFrame(JSON.stringify({ envelope_id: 'E-forged', type: 'interactive', payload }))
    },
  }
}

async function discord(): Promise<Forgery> {
  const fake = await startDiscord({ token: 'MTA.very-secret-token' })
  const platform = discordOn(fake)
  const channel = '100000000000000001'
  const ours = () => fake.screen(channel).filter(({ from }) => from === 'bot')
  const buttons = () => ours().flatMap(({ rows }) => rows.flat().flatMap((one) => (one.type === 'button' ? [one] : [])))
  return {
    platform,
    told: () => JSON.stringify(fake.calls.map(({ body }) => body)),
    tokens: () => buttons().map(({ customId }) => customId.replace(/^reply:/, '')),
    forge: async (label, text) => {
      const button = buttons().findLast((one) => one.label === label)
      const on = ours().find((message) => message.text.includes(text))
      const user = { id: platform.ids.ann, username: 'ann', global_name: 'Ann' }
      const press = {
        ...{ id: '1500000000000000777', token: credential, application_id: '900000000000000000', type: 3, context: 0 },
        ...{ channel_id: channel, channel: { id: channel, type: 0 }, guild_id: '900000000000000001', member: { user } },
        message: { id: on?.messageId, channel_id: channel, flags: 0 },
        data: { custom_id: button?.customId, component_type: 2 },
      }
      fake.pushFrame(JSON.stringify({ op: 0, t: 'INTERACTION_CREATE', s: null, d: press }))
    },
  }
}

async function whatsapp(): Promise<Forgery> {
  const fake = await startWhatsApp({ token: 'EAA-very-secret' })
  const inner = whatsappOn(fake)
  let hook = ''
  const ours = () => fake.screen(eve.id).filter(({ from }) => from === 'business')
  const buttons = () => ours().flatMap((message) => message.buttons)
  const ready = async (url: string): Promise<void> => {
    hook = url
    await inner.ready(url)
  }
  return {
    platform: { ...inner, ready },
    told: () => inner.texts('ann').join(),
    tokens: () => buttons().map(({ data }) => data),
    forge: async (label, text) => {
      const button = buttons().findLast((one) => one.label === label)
      const on = ours().find((message) => message.text.includes(text))
      const reply = { type: 'button_reply', button_reply: { id: button?.data, title: label } }
      const at = { from: eve.id, id: 'wamid.forged', timestamp: String(Math.floor(Date.now() / 1000)) }
      const messages = [
        { ...at, type: 'interactive', interactive: reply, context: { id: on?.id, from: '15550001111' } },
      ]
      const metadata = { display_phone_number: '15550001111', phone_number_id: fake.phoneNumberId }
      const contacts = [{ profile: { name: eve.name }, wa_id: eve.id }]
      const change = { field: 'messages', value: { messaging_product: 'whatsapp', metadata, contacts, messages } }
      const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes: [change] }] })
      const headers = { 'content-type': 'application/json', 'x-hub-signature-256': fake.sign(Buffer.from(body)) }
      await fetch(hook, { method: 'POST', headers, body })
    },
  }
}

let chats: Chats | undefined
afterEach(async () => await chats?.close())

function ask(run: LocalRun, reply: () => void): void {
  run.write({ type: 'tool', callID: 'call_1', tool: 'bash', state: { status: 'running', input: { command: 'ls' } } })
  const permission = { permission: 'bash', patterns: ['ls'], always: [], title: 'ls', metadata: {} }
  run.ask({ type: 'permission', requestID: 'per_1', callID: 'call_1', ...permission, reply })
}

// Telegram's is in rights.test.ts.
test.each([
  ['Slack', slack],
  ['Discord', discord],
  ['WhatsApp', whatsapp],
] as const)(
  'a press that names another message of the bot is refused, its own counts, and the state keeps no credential: %s',
  async (_, start) => {
    const { platform, forge, told, tokens } = await start()
    let allowed = 0
    const agent = localAgent((run, text) => {
      if (text !== 'list') return answer(run, `You said: ${text}.`)
      const reply = (): void => {
        allowed += 1
        setImmediate(() => answer(run, 'As you like.'))
      }
      ask(run, reply)
    })
    const written: string[] = []
    chats = await startChats({ platforms: [platform], connectTo: agent.connectTo })
    await chats.start({
      storeOf: (store) => ({
        ...store,
        commit: async (writes, ...more) => {
          written.push(JSON.stringify(writes))
          return await store.commit(writes, ...more)
        },
      }),
    })
    platform.say('ann', 'hello')
    await expect.poll(() => platform.texts().join()).toContain('You said: hello.')
    platform.say('ann', 'list')
    await expect.poll(() => platform.labels()).toContain('Allow once')
    const shown = tokens()
    await forge('Allow once', 'You said: hello.')
    await expect.poll(told).toContain('This button only works on the original message.')
    expect(allowed).toBe(0)
    await platform.press('ann', 'Allow once')
    await expect.poll(() => platform.texts().join()).toContain('As you like.')
    expect(allowed).toBe(1)
    expect(shown.length).toBeGreaterThan(1)
    expect(shown.every((token) => token.startsWith('r~'))).toBe(true)
    for (const secret of [credential, ...shown, ...shown.map((token) => token.split('.')[0] ?? '')])
      expect(written.join()).not.toContain(secret)
  },
)
