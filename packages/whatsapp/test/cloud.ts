import type { Bubble } from '@reply/sink/channel'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeWhatsApp, startWhatsApp, type WhatsAppOptions } from '@reply/testing/whatsapp'
import { afterEach } from 'vitest'
import type { CloudPortOptions } from '../src/cloud/port.ts'
import { type CloudClient, createCloudClient } from '../src/index.ts'
import { createCloudPort, renderWhatsApp } from '../src/internal.ts'

export { until } from '@reply/testing'

export const token = 'EAAvery-secret-token'
export const person = '491700000001'

const started: FakeWhatsApp[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((whatsapp) => whatsapp.close()))
})

export interface Started {
  readonly whatsapp: FakeWhatsApp
  readonly client: CloudClient
  readonly clock: HandClock
}

export async function start(options: Partial<WhatsAppOptions> = {}): Promise<Started> {
  const clock = createHandClock()
  const whatsapp = await startWhatsApp({ token, clock, ...options })
  started.push(whatsapp)
  return { whatsapp, clock, client: clientFor(whatsapp) }
}

export function clientFor({ url, phoneNumberId }: FakeWhatsApp): CloudClient {
  return createCloudClient({ token, phoneNumberId, apiUrl: url })
}

export interface Opened extends Started {
  readonly port: ReturnType<typeof createCloudPort>
  bubble(source: string, more?: Partial<Bubble>): Bubble
}

export async function open(
  options: Partial<WhatsAppOptions> = {},
  port: Partial<CloudPortOptions> = {},
): Promise<Opened> {
  const begun = await start(options)
  const { client, clock } = begun
  return {
    ...begun,
    port: createCloudPort({ client, clock, to: person, ...port }),
    bubble: (source, more) => ({ ...renderWhatsApp(source), source, isPlain: false, buttons: [], ...more }),
  }
}

export const editing = { chat: { id: person }, signal: new AbortController().signal }
export const posting = { ...editing, silent: false, key: 'k' }

export { ending } from '../../sink/test/ending.ts'

/** The same, while time passes in steps of one second. */
export async function passing(clock: HandClock, isSo: () => boolean, what = isSo.toString()): Promise<void> {
  const end = performance.now() + 60_000
  for (let turn = 1; !isSo(); turn++) {
    if (performance.now() > end) throw new Error(`Timed out waiting for: ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
    if (turn % 20 === 0) await clock.advance(1000)
  }
}
