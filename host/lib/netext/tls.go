package netext

import (
	"crypto/tls"
	"time"

	"golang.org/x/crypto/ocsp"
)

// The names of TLS versions, as scripts and tags have them.
//
//nolint:revive // the names are those that scripts use
const (
	TLS_1_0 = "tls1.0"
	TLS_1_1 = "tls1.1"
	TLS_1_2 = "tls1.2"
	TLS_1_3 = "tls1.3"
)

// What a stapled OCSP response says of a certificate.
//
//nolint:revive // the names are those that scripts use
const (
	OCSP_STATUS_GOOD          = "good"
	OCSP_STATUS_REVOKED       = "revoked"
	OCSP_STATUS_SERVER_FAILED = "server_failed"
	OCSP_STATUS_UNKNOWN       = "unknown"

	OCSP_REASON_UNSPECIFIED            = "unspecified"
	OCSP_REASON_KEY_COMPROMISE         = "key_compromise"
	OCSP_REASON_CA_COMPROMISE          = "ca_compromise"
	OCSP_REASON_AFFILIATION_CHANGED    = "affiliation_changed"
	OCSP_REASON_SUPERSEDED             = "superseded"
	OCSP_REASON_CESSATION_OF_OPERATION = "cessation_of_operation"
	OCSP_REASON_CERTIFICATE_HOLD       = "certificate_hold"
	OCSP_REASON_REMOVE_FROM_CRL        = "remove_from_crl"
	OCSP_REASON_PRIVILEGE_WITHDRAWN    = "privilege_withdrawn"
	OCSP_REASON_AA_COMPROMISE          = "aa_compromise"
)

// TLSInfo is what a connection agreed on.
type TLSInfo struct {
	Version     string
	CipherSuite string
}

// OCSP is a stapled OCSP response; its times are milliseconds since the epoch. It is empty if the server sent none.
type OCSP struct {
	ProducedAt       int64  `js:"produced_at" json:"produced_at"`
	ThisUpdate       int64  `js:"this_update" json:"this_update"`
	NextUpdate       int64  `js:"next_update" json:"next_update"`
	RevokedAt        int64  `js:"revoked_at" json:"revoked_at"`
	RevocationReason string `js:"revocation_reason" json:"revocation_reason"`
	Status           string `js:"status" json:"status"`
}

// ParseTLSConnState reads what a TLS connection agreed on, and the OCSP response that the server stapled.
func ParseTLSConnState(tlsState *tls.ConnectionState) (TLSInfo, OCSP) {
	info := TLSInfo{CipherSuite: tls.CipherSuiteName(tlsState.CipherSuite)}
	switch tlsState.Version {
	case tls.VersionTLS10:
		info.Version = TLS_1_0
	case tls.VersionTLS11:
		info.Version = TLS_1_1
	case tls.VersionTLS12:
		info.Version = TLS_1_2
	case tls.VersionTLS13:
		info.Version = TLS_1_3
	}
	return info, parseOCSP(tlsState.OCSPResponse)
}

func parseOCSP(staple []byte) OCSP {
	if len(staple) == 0 {
		return OCSP{}
	}
	response, err := ocsp.ParseResponse(staple, nil)
	if err != nil {
		// A staple that cannot be read is like none: the handshake did not depend on it.
		return OCSP{Status: OCSP_STATUS_UNKNOWN}
	}
	result := OCSP{
		ProducedAt: milliseconds(response.ProducedAt),
		ThisUpdate: milliseconds(response.ThisUpdate),
		NextUpdate: milliseconds(response.NextUpdate),
		RevokedAt:  milliseconds(response.RevokedAt),
	}
	switch response.Status {
	case ocsp.Good:
		result.Status = OCSP_STATUS_GOOD
	case ocsp.Revoked:
		result.Status = OCSP_STATUS_REVOKED
		result.RevocationReason = revocationReason(response.RevocationReason)
	case ocsp.ServerFailed:
		result.Status = OCSP_STATUS_SERVER_FAILED
	default:
		result.Status = OCSP_STATUS_UNKNOWN
	}
	return result
}

func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func revocationReason(code int) string {
	switch code {
	case ocsp.KeyCompromise:
		return OCSP_REASON_KEY_COMPROMISE
	case ocsp.CACompromise:
		return OCSP_REASON_CA_COMPROMISE
	case ocsp.AffiliationChanged:
		return OCSP_REASON_AFFILIATION_CHANGED
	case ocsp.Superseded:
		return OCSP_REASON_SUPERSEDED
	case ocsp.CessationOfOperation:
		return OCSP_REASON_CESSATION_OF_OPERATION
	case ocsp.CertificateHold:
		return OCSP_REASON_CERTIFICATE_HOLD
	case ocsp.RemoveFromCRL:
		return OCSP_REASON_REMOVE_FROM_CRL
	case ocsp.PrivilegeWithdrawn:
		return OCSP_REASON_PRIVILEGE_WITHDRAWN
	case ocsp.AACompromise:
		return OCSP_REASON_AA_COMPROMISE
	default:
		return OCSP_REASON_UNSPECIFIED
	}
}
