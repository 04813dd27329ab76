import type { ModelInfo } from '../../source/port.ts'
import type { Drive } from '../drive.ts'

/**
 * From now on, sets the context limit of each open reply that has a message and a model but no limit yet. Reads the
 * models once per directory. The limit stays unknown if the server doesn't list the model or its limit. A failed read
 * is ignored, and made again when the reply changes.
 */
export function trackContextLimits({ engine, source, clock }: Drive): void {
  const models = new Map<string | undefined, Promise<readonly ModelInfo[]>>()
  const asked = new Set<string>()
  engine.onSessionChanged((sessionID) => {
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

  /**
   * Resolves with a directory's models, which are read once. Empty if that fails, and then the next call reads again.
   * Never rejects.
   */
  function modelsOf(directory: string | undefined): Promise<readonly ModelInfo[]> {
    const cached = models.get(directory)
    if (cached) return cached
    const reading = source.models(directory).catch(() => {
      models.delete(directory)
      return []
    })
    models.set(directory, reading)
    return reading
  }
}
