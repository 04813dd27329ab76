import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { texts } from '../texts.ts'

/** Whether single keys do something. Off for people whose speech or hands press keys by accident. */
export interface KeySwitch {
  readonly isOn: boolean
  readonly turn: (isOn: boolean) => void
}

const same: Readonly<Record<string, string>> = { j: 'n', k: 'p' }

/** Calls what belongs to a key, unless the reader writes or chooses something. */
export function useKeys(actions: Readonly<Record<string, () => void>>): KeySwitch {
  const [isOn, turn] = useState(true)
  const newest = useRef(actions)
  newest.current = actions
  useEffect(() => {
    if (!isOn) return
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      const { target } = event
      if (target instanceof Element && target.closest('input, textarea, select, dialog, [contenteditable]')) return
      if (event.key === 'Enter' && target instanceof HTMLElement && target.matches('.row')) {
        target.querySelector<HTMLElement>('[data-fold]')?.click()
        event.preventDefault()
        return
      }
      const action = newest.current[same[event.key] ?? event.key]
      if (!action) return
      event.preventDefault()
      action()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [isOn])
  return { isOn, turn }
}

interface KeyHelpProps {
  readonly keys: KeySwitch
  readonly close: () => void
}

/** The list of keys. */
export function KeyHelp({ keys, close }: KeyHelpProps): ComponentChildren {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={close}>
      <h2 id="keys-title">{texts.keys.title}</h2>
      <dl>
        {texts.keys.list.map(([pressed, what]) => (
          <div key={pressed}>
            <dt>
              {pressed.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label class="key-switch">
        <input type="checkbox" checked={keys.isOn} onChange={(event) => keys.turn(event.currentTarget.checked)} />
        {texts.keys.isOn}
      </label>
      <button type="button" class="button" onClick={() => dialog.current?.close()}>
        {texts.keys.close}
      </button>
    </dialog>
  )
}
