import { toReadLimits } from '../../decode/rest.ts'
import type { Clock } from '../clock.ts'
import type { Engine } from '../store/engine.ts'
import type { Rest } from '../transport/rest.ts'

/** Sets each reply's context window, read once per directory. If the server doesn't answer, the limit stays unknown. */
export function trackContextLimits({
  engine,
  rest,
  clock,
}: {
  readonly engine: Engine
  readonly rest: Rest
  readonly clock: Clock
}): void {
  const known = new Map<string, Promise<ReadonlyMap<string, number>>>()
  const asked = new Set<string>()
  engine.onTurned((sessionID) => {
    const reply = engine.openReply(sessionID)
    if (!reply?.model || reply.usage.contextLimit !== undefined || reply.messages.length === 0) return
    const { directory, model } = reply
    const key = `${sessionID} ${model.providerID}/${model.modelID}`
    if (asked.has(key)) return
    asked.add(key)
    void limitsOf(directory).then((limits) => {
      asked.delete(key)
      const contextLimit = limits.get(`${model.providerID}/${model.modelID}`)
      if (contextLimit !== undefined)
        engine.apply([{ type: 'context-limit', sessionID, contextLimit, at: clock.now() }])
    })
  })

  function limitsOf(directory: string | undefined): Promise<ReadonlyMap<string, number>> {
    const key = directory ?? ''
    const before = known.get(key)
    if (before) return before
    const asking = rest.providers(directory).then(toReadLimits, () => {
      known.delete(key)
      return new Map<string, number>()
    })
    known.set(key, asking)
    return asking
  }
}
