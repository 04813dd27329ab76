import type { Delivery } from './balancer.ts'
import type { Given } from './people.ts'
import type { HeardTask } from './scripted-server.ts'

/** How long a message waited for the agent, in ms. Endless if the agent never got it. */
export interface Wait {
  readonly allMs: number
  /** Until a bridge took it. The platform repeats what none took, after a time of its own. */
  readonly untilTakenMs: number
  /** From then on: until its chat had a bridge, and its prompt was posted. */
  readonly sinceTakenMs: number
}

/** Returns how long tasks waited, except those of the real server. */
export function waitsOf(
  { tasks, deliveries }: { readonly tasks: readonly HeardTask[]; readonly deliveries: readonly Delivery[] },
  given: readonly Pick<Given, 'token' | 'kind' | 'at'>[],
): readonly Wait[] {
  const heardAt = new Map(tasks.map(({ task, at }) => [task.token, at]))
  const takenAt = new Map<string, number>()
  for (const { at, body, status } of deliveries) {
    const [, token] = /Please do (t\d{6}) /.exec(body) ?? []
    // Later ones with the same text quote it.
    if (token !== undefined && status === 200 && !takenAt.has(token)) takenAt.set(token, at)
  }
  return given
    .filter(({ kind }) => kind !== 'real')
    .map(({ token, at }) => {
      const heard = heardAt.get(token) ?? Number.POSITIVE_INFINITY
      // One that was stored, and whose acknowledgement was lost, may have been heard before it was repeated.
      const taken = Math.min(heard, takenAt.get(token) ?? Number.POSITIVE_INFINITY)
      return { allMs: heard - at, untilTakenMs: taken - at, sinceTakenMs: heard === taken ? 0 : heard - taken }
    })
}
