export interface Gates {
  /** Waits at the gate until it is released or `gone` aborts. */
  pass(name: string, gone: AbortSignal): Promise<void>
  /** Resolves once a script waits, or has waited, at the gate. */
  held(name: string): Promise<void>
  release(name: string): void
}

interface Gate {
  readonly arrived: Signal
  readonly opened: Signal
}

interface Signal {
  readonly promise: Promise<void>
  readonly fire: () => void
}

const createSignal = (): Signal => {
  let fire = (): void => {}
  const promise = new Promise<void>((resolve) => {
    fire = resolve
  })
  return { promise, fire }
}

/** Named gates: a script stops at one until the test releases it, so that nothing depends on timing. */
export const createGates = (): Gates => {
  const gates = new Map<string, Gate>()
  const gateOf = (name: string): Gate => {
    const known = gates.get(name)
    if (known !== undefined) return known
    const gate = { arrived: createSignal(), opened: createSignal() }
    gates.set(name, gate)
    return gate
  }
  return {
    pass: async (name, gone) => {
      const gate = gateOf(name)
      gate.arrived.fire()
      if (gone.aborted) return
      const left = createSignal()
      gone.addEventListener('abort', left.fire, { once: true })
      await Promise.race([gate.opened.promise, left.promise])
      gone.removeEventListener('abort', left.fire)
    },
    held: (name) => gateOf(name).arrived.promise,
    release: (name) => gateOf(name).opened.fire(),
  }
}
