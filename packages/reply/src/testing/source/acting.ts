import { type SessionRef, sessionRefOf } from '../../session-ref.ts'
import { type Listener, listen } from './listen.ts'
import { type SourceDemand, type SourceStage, takesPrompts } from './stage.ts'

/**
 * Returns the `needs` and `run` of a clause that acts in a new session with an open connection. The stage must take
 * prompts.
 */
export function inNewSession(
  run: (stage: SourceStage, listener: Listener, session: SessionRef) => Promise<void>,
  needs: (stage: SourceStage) => boolean | Promise<boolean> = () => true,
): Pick<SourceDemand, 'needs' | 'run'> {
  return {
    needs: (stage) => takesPrompts(stage) && needs(stage),
    run: async (stage) => {
      const listener = await listen(stage)
      try {
        const created = await stage.source.create({ directory: stage.directory, title: 'Contract' })
        await run(stage, listener, sessionRefOf(created))
      } finally {
        await listener.stop()
      }
    },
  }
}
