import type { ModelInfo } from '../../source/port.ts'
import type { Drive } from '../drive.ts'

/** Sets each reply's context window, read once per directory. If the server doesn't answer, the limit stays unknown. */
export function trackContextLimits({ engine, source, clock }: Drive): void {
  const known = new Map<string | undefined, Promise<readonly ModelInfo[]>>()
  const asked = new Set<string>()
  engine.onTurned((sessionID) => {
    const reply = engine.openReply(sessionID)
    if (!reply?.model || reply.usage.contextLimit !== undefined || reply.messages.length === 0) return
    const { directory, model } = reply
    const key = `${sessionID} ${model.providerID}/${model.modelID}`
    if (asked.has(key)) return
    asked.add(key)
    void modelsOf(directory).then((models) => {
      asked.delete(key)
      const found = models.find(
        ({ providerID, modelID }) => providerID === model.providerID && modelID === model.modelID,
      )
      const contextLimit = found?.contextLimit
      if (contextLimit !== undefined)
        engine.apply([{ type: 'context-limit', sessionID, contextLimit, at: clock.now() }])
    })
  })

  function modelsOf(directory: string | undefined): Promise<readonly ModelInfo[]> {
    const before = known.get(directory)
    if (before) return before
    const asking = source.models(directory).catch(() => {
      known.delete(directory)
      return []
    })
    known.set(directory, asking)
    return asking
  }
}
