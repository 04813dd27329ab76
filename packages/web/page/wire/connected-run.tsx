import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { PageAccess } from '../../src/state/page-access.ts'
import type { PageRun } from '../../src/state/page-run.ts'
import { texts } from '../texts.ts'
import { createFrames } from '../view/frames.ts'
import { RunView } from '../view/run-view.tsx'
import { connectRun, type RunConnection } from './connect-run.ts'
import { Notice } from './notice.tsx'

export interface ConnectedRunProps {
  readonly id: string
  readonly token: string
}

interface Shown {
  readonly run?: PageRun | undefined
  readonly access?: PageAccess | undefined
  readonly notice?: string | undefined
}

/** A run as it is on the server, with what the reader may do. Give it a `key` if the run or the token can change. */
export function ConnectedRun({ id, token }: ConnectedRunProps): ComponentChildren {
  const [{ run, access, notice }, setShown] = useState<Shown>({ notice: texts.connecting })
  const [connection, setConnection] = useState<RunConnection | undefined>(undefined)
  useEffect(() => {
    const frames = createFrames()
    let newest: Shown = { notice: texts.connecting }
    const show = (change: Shown): void => {
      newest = { ...newest, ...change }
      // States may come faster than they can be seen.
      frames.request(() => setShown(newest))
    }
    const opened = connectRun({
      id,
      token,
      onRun: (next) => show({ run: next }),
      onAccess: (next) => show({ access: next }),
      onState: (state, message) => {
        if (state === 'refused') show({ run: undefined, notice: message })
        else
          show({
            notice: state === 'lost' ? texts.reconnecting : state === 'connecting' ? texts.connecting : undefined,
          })
      },
    })
    setConnection(opened)
    return () => {
      frames.stop()
      opened.close()
    }
  }, [id, token])
  const title = run?.reply.title
  useEffect(() => {
    document.title = title ?? 'reply'
  }, [title])
  return (
    <>
      <Notice text={notice} />
      {run && <RunView run={run} access={access} actions={connection} sources={connection} />}
    </>
  )
}
