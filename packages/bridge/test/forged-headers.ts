import { systemClock } from '@reply/core'
import type { BridgeChannel } from '@reply/sink/channel'
import { bridgeChannel as discord } from '../../discord/src/bridge.ts'
import { bridgeChannel as slack } from '../../slack/src/bridge.ts'
import { bridgeChannel as telegram } from '../../telegram/src/bridge.ts'
import { bridgeChannel as whatsapp } from '../../whatsapp/src/bridge.ts'
import type { Bridge } from '../src/bridge.ts'
import { createBridge } from '../src/bridge.ts'
import { parseConfig } from '../src/config/parse.ts'
import { pair } from '../src/setup/pairing.ts'
import { createMemoryStore } from '../src/testing.ts'

/** No platform can be reached: all that comes is from strangers. */
const nowhere = 'http://127.0.0.1:1'
const any = { env: 'ANY' }
const secret = (): string => 'a-secret-of-length'
const channels: Readonly<Record<string, BridgeChannel>> = {
  discord: discord as BridgeChannel,
  slack: slack as BridgeChannel,
  telegram: telegram as BridgeChannel,
  whatsapp: whatsapp as BridgeChannel,
}
const entries = {
  discord: { type: 'discord', token: any, updates: 'http', publicKey: 'ab'.repeat(32), apiUrl: nowhere },
  slack: { type: 'slack', token: any, events: 'http', signingSecret: any, apiUrl: nowhere },
  telegram: { type: 'telegram', token: any, updates: 'webhook', secretToken: any, apiRoot: nowhere },
  whatsapp: {
    ...{ type: 'whatsapp', api: 'cloud', phoneNumberId: '1', apiUrl: nowhere },
    ...{ token: any, appSecret: any, verifyToken: any },
  },
}

/** The headers of a stranger who knows their form. */
export function forgedHeaders(channel: string): Readonly<Record<string, string>> {
  const now = String(Math.floor(Date.now() / 1000))
  switch (channel) {
    case 'discord':
      return { 'x-signature-ed25519': 'a'.repeat(128), 'x-signature-timestamp': now }
    case 'slack':
      return { 'x-slack-signature': `v0=${'a'.repeat(64)}`, 'x-slack-request-timestamp': now }
    case 'whatsapp':
      return { 'x-hub-signature-256': `sha256=${'a'.repeat(64)}` }
    default:
      return { 'x-telegram-bot-api-secret-token': 'another-secret' }
  }
}

/** A bridge with a channel of each name that takes requests. */
export async function startHooked(): Promise<Bridge> {
  const bridge = createBridge({
    config: parseConfig({ servers: { home: { url: nowhere } }, channels: entries, people: {} }),
    store: createMemoryStore({ clock: systemClock }),
    ...{ secret, load: async (type) => channels[type] ?? slack },
  })
  await bridge.start()
  return bridge
}

/** Pairs on Slack. Resolves with the address of its webhooks. */
export async function startPairing(signal: AbortSignal): Promise<string> {
  return await new Promise((resolve, reject) => {
    pair({
      ...{ channel: slack, config: slack.schema.parse(entries.slack), secret, listen: { host: '127.0.0.1', port: 0 } },
      ...{ onCode: () => {}, onError: () => {}, signal },
      onWebhook: (url) => resolve(new URL(url).origin),
    }).catch(reject)
  })
}
