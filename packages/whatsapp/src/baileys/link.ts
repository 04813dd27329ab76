import type { Clock } from '@reply/core'
import { backOffMs } from '@reply/sink/channel'
import { WhatsAppError } from '../error.ts'
import type { BaileysChannel } from './channel.ts'
import { statusOf } from './failure.ts'
import type { BaileysLogin, Linked, LinkUpdate } from './library.ts'

export interface LinkOptions {
  readonly login: BaileysLogin
  /** The number to link, if the login has none yet. */
  readonly number: string
  readonly channel: Pick<BaileysChannel, 'setSocket'>
  readonly onError: (error: WhatsAppError) => void
  readonly clock: Clock
}

/** Keeps a device connected. */
export interface Link {
  start(): void
  stop(): void
}

/** Codes of Baileys' `DisconnectReason`: the device was unlinked, and WhatsApp wants another connection after linking. */
const [loggedOut, restartRequired] = [401, 515]

/** A closed socket can't reopen, so each connection has its own. */
export function createLink({ login, number, channel, onError, clock }: LinkOptions): Link {
  let [isOn, isPairing, failures] = [false, false, 0]
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
    const made = login.connect({
      onLogin: () => void login.save().catch(failed),
      onUpdate: (update) => {
        if (linked === made) changed(update)
      },
    })
    linked = made
    channel.setSocket(made.socket)
  }

  function changed({ connection, qr, lastDisconnect }: LinkUpdate): void {
    if (qr !== undefined && login.number() === undefined) pair()
    if (connection === 'open') failures = 0
    if (connection === 'close' && isOn) closed(lastDisconnect?.error)
  }

  function closed(error: unknown): void {
    linked = undefined
    channel.setSocket(undefined)
    const status = statusOf(error)
    if (status === loggedOut) {
      const cure = 'Remove the folder of the login, and start again to link it.'
      return onError(new WhatsAppError('unauthorized', `This device was unlinked on the phone. ${cure}`))
    }
    if (status !== restartRequired) failed(error)
    stopTimer = clock.after(backOffMs(failures), open)
    failures += 1
  }

  function pair(): void {
    if (isPairing) return
    isPairing = true
    const asked = linked?.pair(number) ?? Promise.reject(new Error('there is no connection'))
    asked.then((code) => {
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
    const words = error instanceof Error ? error.message : String(error)
    onError(new WhatsAppError('updates', `The connection to WhatsApp failed: ${words}`))
  }
}
