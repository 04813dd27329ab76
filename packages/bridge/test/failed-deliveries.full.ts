import { testFailedDeliveries } from './failing-deliveries.ts'

testFailedDeliveries(1)
