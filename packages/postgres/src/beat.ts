import type { Beat, BeatRequest, UsedCalls } from '@reply/bridge'
import { keyBytes, keyText, packed, unpacked } from './encoding.ts'

/** The result of the function `beat`. */
export type EncodedBeat =
  | { readonly refused: Extract<Beat, { readonly type: 'refused' }>['reason'] }
  | {
      readonly refused?: undefined
      readonly leases: readonly { readonly name: string; readonly fence: number }[] | null
      readonly excess: readonly { readonly g: string; readonly count: number }[] | null
      readonly others: number
      readonly budgets: readonly {
        readonly b: string
        readonly share: number
        /** Undefined from a schema of an older version. */
        readonly target?: number
        readonly most?: number
        readonly frozen: number
      }[]
    }

/** Returns the arguments of the function `beat`. */
export function encodedRequest(request: BeatRequest): readonly unknown[] {
  const { member, forMs, layout, isAlone, wants, budgets } = request
  const named = Object.entries(wants).flatMap(([group, names]) => names.map((name) => ({ group, name })))
  return [
    packed(member),
    forMs,
    packed(layout),
    isAlone === true,
    named.map(({ group }) => packed(group)),
    named.map(({ name }) => keyBytes(name)),
    JSON.stringify(
      Object.entries(budgets).map(([budget, { total, windowMs, demand, growing, used, ...more }]) => {
        const { mostGrowing = total, usedFor, freezeForMs = 0 } = more
        const limits = { total, most_growing: mostGrowing, window_ms: windowMs }
        const calls = { demand, growing, used, used_for: usedFor && encodedCalls(usedFor) }
        return { b: packed(budget), ...limits, ...calls, freeze_ms: freezeForMs }
      }),
    ),
  ]
}

/** Returns the arguments of the function `leave`. */
export function encodedLeave(member: string, used: UsedCalls = {}): readonly unknown[] {
  return [
    packed(member),
    JSON.stringify(
      Object.entries(used).map(([budget, counted]) => {
        return { b: packed(budget), counted: encodedCalls(counted) }
      }),
    ),
  ]
}

/** Returns calls as the functions take them. */
function encodedCalls(counted: UsedCalls[string]): readonly unknown[] {
  return counted.map(({ calls, forMs }) => ({ calls, for_ms: forMs }))
}

/** Decodes the result of the function `beat`. */
export function decodedBeat(encoded: EncodedBeat, { member, forMs }: BeatRequest): Beat {
  if (encoded.refused !== undefined) return { type: 'refused', reason: encoded.refused }
  const { leases, excess, others, budgets } = encoded
  return {
    type: 'admitted',
    leases: (leases ?? []).map(({ name, fence }) => {
      return { name: keyText(Buffer.from(name, 'hex')), holder: member, fence, validForMs: forMs }
    }),
    excess: Object.fromEntries((excess ?? []).map(({ g, count }) => [unpacked(g), count])),
    others,
    budgets: Object.fromEntries(
      budgets.map(({ b, share, target = share, most = share, frozen }) => {
        return [unpacked(b), { share, target, most, frozenForMs: frozen }]
      }),
    ),
  }
}
