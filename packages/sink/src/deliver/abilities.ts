import type { Reply } from '@reply/core'
import type { Slot } from '../layout/slot.ts'
import type { IntentEntry } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ChannelPort } from '../port/port.ts'
import type { Mode } from '../view/view.ts'
import type { Native } from './native.ts'
import type { ReconcileOptions } from './reconcile.ts'
import type { Schedule } from './schedule.ts'
import { isStreamed } from './streaming.ts'
import { intentOf } from './transitions.ts'
import type { Turn } from './turn.ts'

export interface AbilitiesOptions {
  readonly port: ChannelPort
  readonly mode: Mode
  readonly native: Native
  readonly turn: Pick<Turn, 'hasTimeFor'>
  readonly schedule: Pick<Schedule, 'isRefused'>
}

/** What the port can do for a reply, as the steps of a delivery ask for it. */
export interface Abilities {
  /** How a post with an unknown result is settled. */
  readonly facts: { readonly isIdempotent: boolean; readonly canLookUp: boolean }
  optionsOf(reply: Reply): ReconcileOptions
  /** How a slot is posted now. */
  kindOf(slot: Slot, ledger: Ledger): IntentEntry['kind']
}

export function createAbilities({ port, mode, native, turn, schedule }: AbilitiesOptions): Abilities {
  const { limits } = port
  const facts = { isIdempotent: limits.idempotent, canLookUp: port.lookUp !== undefined && !limits.idempotent }
  return { facts, optionsOf, kindOf }

  function optionsOf({ phase }: Reply): ReconcileOptions {
    const canEdit = port.edit !== undefined && limits.edits && mode !== 'append'
    const [isSettled, canRemove] = [phase === 'settled', port.remove !== undefined]
    const canBeSilent = limits.silent
    const isPreviewing = native.previewing !== undefined
    const asked = { hasTimeFor: turn.hasTimeFor, isRefused: schedule.isRefused }
    return {
      isSettled,
      canEdit,
      canRemove,
      canBeSilent,
      isPreviewing,
      openSince: native.openSince(),
      ...facts,
      ...asked,
    }
  }

  /** Ports can rarely look for a stream, so one whose opening had no result is posted as a message. */
  function kindOf(slot: Slot, ledger: Ledger): IntentEntry['kind'] {
    if (slot.file && port.upload) return 'file'
    return native.streaming && isStreamed(slot) && !intentOf(ledger, slot) ? 'stream' : undefined
  }
}
