import type { Clock } from '@reply/core'
import type { HearingWatch } from '@reply/sink/internal'
import { WhatsAppError } from '../error.ts'
import type { BaileysChannel } from './channel.ts'
import { statusOf } from './failure.ts'
import type { BaileysLogin, Linked, LinkUpdate } from './library.ts'

export interface LinkOptions {
  readonly login: BaileysLogin
  /** Reads the login anew. A person may have removed its folder, to link the device again. */
  readonly reload: () => Promise<BaileysLogin>
  /** The number to link, if the login has none yet. */
  readonly number: string
  readonly channel: Pick<BaileysChannel, 'setSocket'>
  readonly onError: (error: WhatsAppError) => void
  readonly hearing: HearingWatch
  readonly clock: Clock
}

/** Keeps a device connected. */
export interface Link {
  start(): void
  stop(): void
}

/** WhatsApp wants another connection after linking. This and the codes below are Baileys' `DisconnectReason`. */
const restartRequired = 515

/** What a person has to mend, by the code that ended the connection. Everything else passes, and is tried again soon. */
const refusals: ReadonlyMap<number, string> = new Map([
  [
    401,
    'This device was unlinked on the phone. Remove the folder of the login, and enter the code that the log then says.',
  ],
  [403, 'WhatsApp has blocked this account. Open WhatsApp on the phone, and see what it says.'],
  [411, 'This account can have no linked devices. Update WhatsApp on the phone.'],
  [440, 'Another process uses the login of this device. Stop it, or link this device with a folder of its own.'],
])

/** A closed socket can't reopen, so each connection has its own. */
export function createLink({ reload, number, channel, onError, hearing, clock, ...options }: LinkOptions): Link {
  let { login } = options
  let isOn = false
  let isPairing = false
  let linked: Linked | undefined
  let stopTimer = (): void => {}
  return { start, stop }

  function start(): void {
    if (isOn) return
    isOn = true
    open()
  }

  function stop(): void {
    isOn = false
    stopTimer()
    channel.setSocket(undefined)
    linked?.end()
    linked = undefined
  }

  function open(): void {
    const used = login
    const made = used.connect({
      onLogin: () => void used.save().catch(failed),
      onUpdate: (update) => {
        if (linked === made) changed(update)
      },
    })
    linked = made
    channel.setSocket(made.socket)
  }

  function changed({ connection, qr, lastDisconnect }: LinkUpdate): void {
    if (qr !== undefined && login.number() === undefined) pair()
    if (connection === 'open') hearing.heard()
    if (connection === 'close' && isOn) closed(lastDisconnect?.error)
  }

  function closed(error: unknown): void {
    linked = undefined
    channel.setSocket(undefined)
    const status = statusOf(error)
    const refusal = refusals.get(status ?? 0)
    const reason = refusal === undefined ? failureOf(error) : new WhatsAppError('unauthorized', refusal)
    if (status !== restartRequired) onError(reason)
    const waitMs = refusal === undefined ? hearing.failed(reason) : hearing.refused(reason)
    stopTimer = clock.after(waitMs, () => void again(refusal !== undefined))
  }

  async function again(isNew: boolean): Promise<void> {
    try {
      if (isNew) login = await reload()
    } catch (error) {
      onError(failureOf(error))
    }
    if (isOn) open()
  }

  function pair(): void {
    if (isPairing) return
    isPairing = true
    const asked = linked?.pair(number) ?? Promise.reject(new Error('there is no connection'))
    asked.then((code) => {
      hearing.refused(new WhatsAppError('unlinked', 'This device is not linked yet. The log says which code to enter.'))
      const how = `On the phone of ${number}, open "Linked devices", "Link with phone number instead"`
      onError(new WhatsAppError('unlinked', `This device is not linked yet. ${how}, and enter ${code}.`))
    }, failed)
    asked
      .finally(() => {
        isPairing = false
      })
      .catch(() => {})
  }

  function failed(error: unknown): void {
    onError(failureOf(error))
  }
}

function failureOf(error: unknown): WhatsAppError {
  const words = error instanceof Error ? error.message : String(error)
  return new WhatsAppError('updates', `The connection to WhatsApp failed: ${words}`)
}
