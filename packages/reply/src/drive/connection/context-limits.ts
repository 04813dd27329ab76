import type { ModelInfo } from '../../source/port.ts'
import type { Drive } from '../drive.ts'

/**
 * From now on, sets the context limit of each open reply once its model is known. Reads the models once per directory.
 * If that fails, the limit stays unknown until the reply changes again.
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

  /** Reads a directory's models once. Empty if that fails, and the next call reads again. */
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
